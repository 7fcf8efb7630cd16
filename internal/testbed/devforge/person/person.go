// Package person acts on the forge as people and CI do, through the REST API of GitHub, for demo
// and tests. It is for demos and tests, and so is the forge.
package person

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// Person is somebody who works on one repository.
type Person struct {
	Login, Token string
	// root of the repository in the REST API.
	root string
}

// New returns a person who signs in with a token.
func New(forge *devforge.Forge, repository, login, token string) Person {
	return Person{Login: login, Token: token, root: forge.APIURL() + "repos/" + repository}
}

// RefusedError is an answer that is no success.
type RefusedError struct {
	Status int
	Body   string
}

// Error says what was answered.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Body)
}

// Call sends in as JSON, unless it is nil, to a path below the repository that begins with a slash,
// and reads the answer into out, unless that is nil. An answer that is no success is a
// *RefusedError.
func (p Person) Call(ctx context.Context, method, path string, in, out any) (err error) {
	var body io.Reader = http.NoBody
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.root+path, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Authorization", "Bearer "+p.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return &RefusedError{Status: resp.StatusCode, Body: string(answer)}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}

// Write commits a file to a branch and returns the commit.
func (p Person) Write(ctx context.Context, branch, path string, content []byte) (commit string, err error) {
	var known struct{ SHA string }
	err = p.Call(ctx, http.MethodGet, "/contents/"+path+"?ref="+branch, nil, &known)
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusNotFound {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	var made struct{ Commit struct{ SHA string } }
	change := map[string]any{"message": "Write " + path, "content": content, "branch": branch}
	if known.SHA != "" {
		change["sha"] = known.SHA
	}
	if err := p.Call(ctx, http.MethodPut, "/contents/"+path, change, &made); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return made.Commit.SHA, nil
}
