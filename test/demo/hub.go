package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/person"
)

// hub is the forge that the story takes place on.
type hub interface {
	Type() v1alpha1.ForgeType
	URL() string
	CloneURL(repository string) string
	// SignUp makes an account, and a token for it.
	SignUp(ctx context.Context, name string) (token string, err error)
	// CreateRepository makes OWNER/NAME with a commit of files on the branch.
	CreateRepository(ctx context.Context, repository, branch string, files fs.FS) error
	// Invite lets somebody write to a repository.
	Invite(ctx context.Context, repository, name string) error
	// AddHook has the forge tell an address what happens in a repository.
	AddHook(ctx context.Context, repository, address, secret string) error
	// Approve reviews a pull request of a repository as somebody, and merges it.
	Approve(ctx context.Context, by account, number int64, remark string) error
	// Post puts a status onto a commit.
	Post(ctx context.Context, by account, commit string, status commitStatus) error
	// Statuses lists the statuses of a commit, newest first.
	Statuses(ctx context.Context, by account, commit string) ([]commitStatus, error)
	// Pulls lists all pull requests of a repository, merged ones too.
	Pulls(ctx context.Context, by account) ([]pull, error)
	Close() error
}

// account is somebody's on a repository of a forge.
type account struct{ repository, login, token string }

// commitStatus is one status of a commit, as the forge lists it.
type commitStatus struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// rights lists the permissions of tokens on GitHub; nil gives all that the account has.
var rights = map[string]devforge.Permissions{
	developer: nil,
	approver:  nil,
	tester:    {"statuses": "write"},
	releaser:  {"contents": "write", "pull_requests": "write", "statuses": "write"},
}

// devHub is a forge with GitHub's API.
type devHub struct{ *devforge.Forge }

func (devHub) Type() v1alpha1.ForgeType { return v1alpha1.ForgeGitHub }

func (h devHub) SignUp(_ context.Context, name string) (string, error) {
	if _, err := h.CreateUser(name); err != nil {
		return "", err
	}
	return h.CreateToken(name, rights[name])
}

func (h devHub) Invite(_ context.Context, repository, name string) error {
	return h.Grant(repository, name, devforge.RoleWrite)
}

func (h devHub) AddHook(ctx context.Context, repository, address, secret string) error {
	_, err := h.Forge.AddHook(ctx, repository, devforge.Hook{URL: address, Secret: secret})
	return err
}

// call sends a request about a repository as somebody.
//
//nolint:revive // the parts of an HTTP request
func (h devHub) call(ctx context.Context, by account, method, path string, in, out any) error {
	if err := person.New(h.Forge, by.repository, by.login, by.token).Call(ctx, method, path, in, out); err != nil {
		return fmt.Errorf("%s %s as %s: %w", method, path, by.login, err)
	}
	return nil
}

func (h devHub) Approve(ctx context.Context, by account, number int64, remark string) error {
	pull := fmt.Sprintf("/pulls/%d", number)
	if err := h.call(ctx, by, http.MethodPost, pull+"/reviews", map[string]string{"event": "APPROVE", "body": remark}, nil); err != nil {
		return err
	}
	return h.call(ctx, by, http.MethodPut, pull+"/merge", struct{}{}, nil)
}

func (h devHub) Post(ctx context.Context, by account, commit string, status commitStatus) error {
	return h.call(ctx, by, http.MethodPost, "/statuses/"+commit, status, nil)
}

func (h devHub) Statuses(ctx context.Context, by account, commit string) ([]commitStatus, error) {
	var listed []commitStatus
	err := h.call(ctx, by, http.MethodGet, "/commits/"+commit+"/statuses?per_page=100", nil, &listed)
	return listed, err
}

func (h devHub) Pulls(ctx context.Context, by account) ([]pull, error) {
	var listed []pull
	err := h.call(ctx, by, http.MethodGet, "/pulls?state=all", nil, &listed)
	return listed, err
}
