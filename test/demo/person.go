package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/person"
)

// account acts on the forge for a person or for CI.
type account struct{ person.Person }

// commitStatus is one status of a commit, as the forge lists it.
type commitStatus struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// approve reviews a pull request and merges it.
func (p account) approve(ctx context.Context, number int64, remark string) error {
	pull := fmt.Sprintf("/pulls/%d", number)
	review := map[string]string{"event": "APPROVE", "body": remark}
	if err := p.Call(ctx, http.MethodPost, pull+"/reviews", review, nil); err != nil {
		return fmt.Errorf("review #%d as %s: %w", number, p.Login, err)
	}
	if err := p.Call(ctx, http.MethodPut, pull+"/merge", struct{}{}, nil); err != nil {
		return fmt.Errorf("merge #%d as %s: %w", number, p.Login, err)
	}
	return nil
}

// post puts a status onto a commit.
func (p account) post(ctx context.Context, commit string, status commitStatus) error {
	if err := p.Call(ctx, http.MethodPost, "/statuses/"+commit, status, nil); err != nil {
		return fmt.Errorf("post %s on %s as %s: %w", status.Context, plain.Commit(commit), p.Login, err)
	}
	return nil
}

// statuses lists those of a commit, newest first.
func (p account) statuses(ctx context.Context, commit string) ([]commitStatus, error) {
	var listed []commitStatus
	if err := p.Call(ctx, http.MethodGet, "/commits/"+commit+"/statuses?per_page=100", nil, &listed); err != nil {
		return nil, fmt.Errorf("list statuses of %s: %w", plain.Commit(commit), err)
	}
	return listed, nil
}
