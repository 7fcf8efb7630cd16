package github

import (
	"context"
	"net/url"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// ReadFile reads a file as it was at a commit. The error for one that is missing is of kind
// NotFound, for what is not a file or is too large for the forge to return, of kind Invalid.
func (c *Client) ReadFile(ctx context.Context, path, ref string) ([]byte, error) {
	if err := wire.CheckPath(path); err != nil {
		return nil, err
	}
	file, _, _, err := c.api.Repositories.GetContents(ctx, c.owner, c.name, path, &github.RepositoryContentGetOptions{Ref: ref})
	if err != nil {
		return nil, c.explain(err, "read %s at %s", path, ref)
	}
	if file.GetType() != "file" {
		return nil, wire.Invalid("%s is not a file at %s", path, ref)
	}
	content, err := file.GetContent()
	if err != nil || forge.BlobSHA([]byte(content)) != file.GetSHA() {
		return nil, wire.Invalid("the forge does not return all of %s", path)
	}
	return []byte(content), nil
}

// Tip reads the last commit of a branch with its tree, in one request.
func (c *Client) Tip(ctx context.Context, name string) (forge.Tip, error) {
	if err := wire.CheckBranch(name); err != nil {
		return forge.Tip{}, err
	}
	req, err := c.api.NewRequest("GET", "repos/"+c.owner+"/"+c.name+"/branches/"+url.PathEscape(name), nil)
	if err != nil {
		return forge.Tip{}, c.explain(err, "read branch %s", name)
	}
	found := &github.Branch{}
	if _, err = c.api.Do(ctx, req, found); err != nil {
		return forge.Tip{}, c.explain(err, "read branch %s", name)
	}
	tip := forge.Tip{Commit: found.GetCommit().GetSHA(), Tree: found.GetCommit().GetCommit().GetTree().GetSHA()}
	if wire.CheckSHA(tip.Commit) != nil || wire.CheckSHA(tip.Tree) != nil {
		return forge.Tip{}, wire.Distrusted("read branch %s: the answer names no commit and tree", name)
	}
	return tip, nil
}
