package devforge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"
)

func (c *call) getRepository() (answer, error) {
	return ok(c.forge.shape.fullRepository(c.repo, c.forge.roleIn(c.by, c.repo)))
}

func (c *call) getBranch() (answer, error) {
	name := c.req.PathValue("branch")
	sha, found := c.repo.refs[branchPrefix+name]
	if !found {
		return answer{}, refuse(http.StatusNotFound, "Branch not found")
	}
	commit, err := c.repo.git.Commit(sha)
	if err != nil {
		return answer{}, err
	}
	s, url := c.forge.shape, c.forge.shape.api("/repos/%s/branches/%s", c.repo.fullName(), name)
	return ok(object{
		"name": name, "commit": s.commit(c.repo, commit), "protected": false, "protection": object{"enabled": false},
		"protection_url": url + "/protection",
		"_links":         object{"self": url, "html": s.html("/%s/tree/%s", c.repo.fullName(), name)},
	})
}

// listRules tells that nothing holds a branch back: the forge has no rules.
func (c *call) listRules() (answer, error) { return ok([]object{}) }

// ref returns a branch or tag as it stands.
func (c *call) ref(name string) (object, error) {
	sha := c.repo.refs[name]
	kind, err := c.repo.git.TypeOf(sha)
	if err != nil {
		return nil, err
	}
	s, repo := c.forge.shape, c.repo.fullName()
	return object{
		"ref": name, "node_id": nodeID("REF", repo+name), "url": s.api("/repos/%s/git/%s", repo, name),
		"object": object{"type": kind, "sha": sha, "url": s.api("/repos/%s/git/%ss/%s", repo, kind, sha)},
	}, nil
}

func (c *call) getRef() (answer, error) {
	name := "refs/" + c.req.PathValue("ref")
	if _, found := c.repo.refs[name]; !found {
		return answer{}, errNotFound
	}
	ref, err := c.ref(name)
	if err != nil {
		return answer{}, err
	}
	return ok(ref)
}

func (c *call) listMatchingRefs() (answer, error) {
	var names []string
	for name := range c.repo.refs {
		if strings.HasPrefix(name, "refs/"+c.req.PathValue("ref")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	refs := []object{}
	for _, name := range pageOf(c, names) {
		ref, err := c.ref(name)
		if err != nil {
			return answer{}, err
		}
		refs = append(refs, ref)
	}
	return ok(refs)
}

type refRequest struct {
	Ref   string `json:"ref"`
	SHA   string `json:"sha"`
	Force bool   `json:"force"`
}

func (c *call) createRef() (answer, error) {
	in, err := decode[refRequest](c)
	if err != nil {
		return answer{}, err
	}
	named := strings.HasPrefix(in.Ref, branchPrefix) || strings.HasPrefix(in.Ref, tagPrefix)
	switch _, exists := c.repo.refs[in.Ref]; {
	case exists:
		return answer{}, refuse(http.StatusUnprocessableEntity, "Reference already exists")
	case !named || !c.repo.git.ValidRef(c.ctx, in.Ref):
		return answer{}, refuse(http.StatusUnprocessableEntity, fmt.Sprintf("%s is not a valid ref name.", in.Ref))
	}
	if err := c.knownCommit(in.SHA); err != nil {
		return answer{}, err
	}
	if err := c.moveRef(in.Ref, in.SHA, gitcmd.Zero); err != nil {
		return answer{}, err
	}
	ref, err := c.ref(in.Ref)
	if err != nil {
		return answer{}, err
	}
	return created(ref)
}

// knownCommit refuses what is not the full name of a commit.
func (c *call) knownCommit(sha string) error {
	if kind, err := c.repo.git.TypeOf(sha); err != nil || kind != "commit" {
		return refuse(http.StatusUnprocessableEntity, "Object does not exist")
	}
	return nil
}

// moveRef moves a ref, with all that follows from it.
func (c *call) moveRef(ref, sha, old string) error {
	if err := c.repo.git.UpdateRef(c.ctx, ref, sha, old); err != nil {
		return refuse(http.StatusConflict, "Reference update failed: "+ref+" has moved or is in the way of another")
	}
	return c.forge.sync(c.ctx, c.repo, c.by.account, ref)
}

func (c *call) updateRef() (answer, error) {
	in, err := decode[refRequest](c)
	if err != nil {
		return answer{}, err
	}
	name := "refs/" + c.req.PathValue("ref")
	old, found := c.repo.refs[name]
	if !found {
		return answer{}, refuse(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if err := c.knownCommit(in.SHA); err != nil {
		return answer{}, err
	}
	if !in.Force && !c.repo.git.IsAncestor(old, in.SHA) {
		return answer{}, refuse(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if err := c.moveRef(name, in.SHA, old); err != nil {
		return answer{}, err
	}
	ref, err := c.ref(name)
	if err != nil {
		return answer{}, err
	}
	return ok(ref)
}

func (c *call) deleteRef() (answer, error) {
	name := "refs/" + c.req.PathValue("ref")
	old, found := c.repo.refs[name]
	switch {
	case !found:
		return answer{}, refuse(http.StatusUnprocessableEntity, "Reference does not exist")
	case name == branchPrefix+c.repo.defaultBranch:
		return answer{}, refuse(http.StatusUnprocessableEntity, "Cannot delete the default branch")
	}
	if err := c.moveRef(name, gitcmd.Zero, old); err != nil {
		return answer{}, err
	}
	return noContent()
}
