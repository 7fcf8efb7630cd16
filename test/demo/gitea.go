package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea"
)

// giteaHub is a real Gitea.
type giteaHub struct{ *devgitea.Server }

// startGitea starts a Gitea. The first one of a machine builds it, which takes a C compiler and
// minutes.
func startGitea(ctx context.Context, dir string, progress io.Writer) (hub, error) {
	programs, err := controlplane.GiteaBinaries(ctx, progress)
	if err != nil {
		return nil, err
	}
	server, err := devgitea.Start(ctx, devgitea.Options{Dir: dir, Programs: programs})
	if err != nil {
		return nil, err
	}
	return giteaHub{server}, nil
}

func (giteaHub) Type() v1alpha1.ForgeType { return v1alpha1.ForgeGitea }

func (h giteaHub) CloneURL(repository string) string { return h.URL() + "/" + repository + ".git" }

// leastScopes lists the scopes that the token of Sluice's account needs.
var leastScopes = []string{"write:repository", "write:issue", "read:user"}

func (h giteaHub) SignUp(ctx context.Context, name string) (string, error) {
	token, err := h.CreateUser(ctx, name)
	if err != nil || name != releaser {
		return token, err
	}
	return h.CreateToken(ctx, name, leastScopes...)
}

func (h giteaHub) CreateRepository(ctx context.Context, repository, branch string, files fs.FS) error {
	owner, name, _ := strings.Cut(repository, "/")
	texts := map[string]string{}
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	return h.Server.CreateRepository(ctx, owner, name, branch, texts)
}

// call sends a request about a repository as somebody, once the server can carry it out.
//
//nolint:revive // the parts of an HTTP request
func (h giteaHub) call(ctx context.Context, by account, method, path string, in, out any) error {
	return devgitea.Until(ctx, func(ctx context.Context) error {
		return h.Call(ctx, by.token, method, "/repos/"+by.repository+path, in, out)
	})
}

func (h giteaHub) Invite(ctx context.Context, repository, name string) error {
	return h.call(ctx, account{repository: repository}, http.MethodPut, "/collaborators/"+name, map[string]string{"permission": "write"}, nil)
}

func (h giteaHub) AddHook(ctx context.Context, repository, address, secret string) error {
	return h.call(ctx, account{repository: repository}, http.MethodPost, "/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request", "pull_request_review", "status"},
		"config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}, nil)
}

func (h giteaHub) Approve(ctx context.Context, by account, number int64, remark string) error {
	pull := fmt.Sprintf("/pulls/%d", number)
	if err := h.call(ctx, by, http.MethodPost, pull+"/reviews", map[string]string{"event": "APPROVED", "body": remark}, nil); err != nil {
		return err
	}
	return h.call(ctx, by, http.MethodPost, pull+"/merge", map[string]string{"Do": "merge"}, nil)
}

func (h giteaHub) Post(ctx context.Context, by account, commit string, status commitStatus) error {
	return h.call(ctx, by, http.MethodPost, "/statuses/"+commit, status, nil)
}

func (h giteaHub) Statuses(ctx context.Context, by account, commit string) ([]commitStatus, error) {
	var listed []struct{ Context, Status, Description string }
	err := h.call(ctx, by, http.MethodGet, "/commits/"+commit+"/statuses?limit=50", nil, &listed)
	statuses := make([]commitStatus, 0, len(listed))
	for _, one := range listed {
		statuses = append(statuses, commitStatus{one.Context, one.Status, one.Description})
	}
	return statuses, err
}

// Close ends the server.
func (h giteaHub) Close() error {
	h.Server.Close()
	return nil
}

func (h giteaHub) Pulls(ctx context.Context, by account) ([]pull, error) {
	var listed []pull
	err := h.call(ctx, by, http.MethodGet, "/pulls?state=all", nil, &listed)
	return listed, err
}
