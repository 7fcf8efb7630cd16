package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// person is somebody with an account on the forge, who does there what people and CI do: by the
// REST API that GitHub has, too.
type person struct {
	name  string
	token string
	// api is the root of the repository in the REST API.
	api string
}

// commitStatus is one status of a commit, as the forge lists it.
type commitStatus struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// approve reviews a pull request and merges it.
func (p *person) approve(ctx context.Context, number int64, remark string) error {
	pull := fmt.Sprintf("/pulls/%d", number)
	review := map[string]string{"event": "APPROVE", "body": remark}
	if err := p.call(ctx, http.MethodPost, pull+"/reviews", review, nil); err != nil {
		return fmt.Errorf("review #%d as %s: %w", number, p.name, err)
	}
	if err := p.call(ctx, http.MethodPut, pull+"/merge", struct{}{}, nil); err != nil {
		return fmt.Errorf("merge #%d as %s: %w", number, p.name, err)
	}
	return nil
}

// post puts a status onto a commit.
func (p *person) post(ctx context.Context, commit string, status commitStatus) error {
	if err := p.call(ctx, http.MethodPost, "/statuses/"+commit, status, nil); err != nil {
		return fmt.Errorf("post %s on %s as %s: %w", status.Context, short(commit), p.name, err)
	}
	return nil
}

// statuses lists those of a commit, newest first.
func (p *person) statuses(ctx context.Context, commit string) ([]commitStatus, error) {
	var listed []commitStatus
	if err := p.call(ctx, http.MethodGet, "/commits/"+commit+"/statuses?per_page=100", nil, &listed); err != nil {
		return nil, fmt.Errorf("list statuses of %s: %w", short(commit), err)
	}
	return listed, nil
}

// call sends in as JSON, unless it is nil, and reads the answer into out, unless that is nil.
func (p *person) call(ctx context.Context, method, path string, in, out any) (err error) {
	var body io.Reader = http.NoBody
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.api+path, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %s", resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}
