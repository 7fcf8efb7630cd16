package devforge

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// signature returns the one that a request names, or the other.
func (c *call) signature(given *identity, otherwise gitcmd.Signature) (gitcmd.Signature, error) {
	if given == nil {
		return otherwise, nil
	}
	if given.Name == "" || given.Email == "" {
		return otherwise, refuse(http.StatusUnprocessableEntity, "Invalid request. An author has a name and an email.")
	}
	signature := gitcmd.Signature{Name: given.Name, Email: given.Email, When: c.forge.now()}
	if given.Date == "" {
		return signature, nil
	}
	when, err := time.Parse(time.RFC3339, given.Date)
	if err != nil {
		return otherwise, refuse(http.StatusUnprocessableEntity, "Invalid request. The date is not of ISO 8601.")
	}
	signature.When = when
	return signature, nil
}

type blobRequest struct {
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
}

func (c *call) createBlob() (answer, error) {
	in, err := decode[blobRequest](c)
	if err != nil {
		return answer{}, err
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(in.Content, "\n", "")); err != nil {
			return answer{}, refuse(http.StatusUnprocessableEntity, "content is not valid Base64")
		}
	}
	sha, err := c.repo.git.WriteBlob(data)
	if err != nil {
		return answer{}, err
	}
	return created(object{"sha": sha, "url": c.blobURL(sha)})
}

func (c *call) blobURL(sha string) string {
	return c.forge.shape.api("/repos/%s/git/blobs/%s", c.repo.fullName(), sha)
}

func (c *call) getBlob() (answer, error) {
	sha := c.req.PathValue("file_sha")
	if kind, err := c.repo.git.TypeOf(sha); err != nil || kind != "blob" {
		return answer{}, errNotFound
	}
	if c.wantsRaw() {
		return c.raw(sha)
	}
	data, err := c.repo.git.ReadBlob(sha)
	if err != nil {
		return answer{}, err
	}
	return ok(object{
		"sha": sha, "node_id": nodeID("B", sha), "size": len(data), "url": c.blobURL(sha), "encoding": "base64", "content": encode64(data),
	})
}

type treeRequest struct {
	BaseTree string       `json:"base_tree"`
	Tree     []treeChange `json:"tree"`
}

// treeChange is an entry to be set, or, with neither SHA nor content, to be deleted.
type treeChange struct {
	Path    string  `json:"path"`
	Mode    string  `json:"mode"`
	Type    string  `json:"type"`
	SHA     *string `json:"sha"`
	Content *string `json:"content"`
}

func (c *call) createTree() (answer, error) {
	in, err := decode[treeRequest](c)
	if err != nil {
		return answer{}, err
	}
	base := in.BaseTree
	if base != "" {
		if _, err := c.repo.git.TypeOf(base); err != nil {
			return answer{}, refuse(http.StatusUnprocessableEntity, "base_tree is not a valid tree oid")
		}
	}
	var files []gitcmd.Entry
	for _, change := range in.Tree {
		entry, err := c.entryOf(change)
		if err != nil {
			return answer{}, err
		}
		if change.Type != "tree" || entry.SHA == gitcmd.Zero {
			files = append(files, entry)
			continue
		}
		if base, err = c.repo.git.Graft(base, change.Path, entry.SHA); err != nil {
			return answer{}, err
		}
	}
	sha, err := c.repo.git.WriteTree(base, files)
	if err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, "tree.path contains a malformed path component")
	}
	tree, err := c.tree(sha, false)
	if err != nil {
		return answer{}, err
	}
	return created(tree)
}

func (c *call) entryOf(change treeChange) (gitcmd.Entry, error) {
	entry := gitcmd.Entry{Mode: change.Mode, Type: change.Type, Path: change.Path, SHA: gitcmd.Zero}
	switch change.Mode {
	case gitcmd.ModeFile, gitcmd.ModeExecutable, gitcmd.ModeSymlink, gitcmd.ModeSubmodule, gitcmd.ModeTree:
	default:
		return entry, refuse(http.StatusUnprocessableEntity, "tree.mode is not a valid file mode")
	}
	switch {
	case change.SHA != nil:
		entry.SHA = *change.SHA
		if _, err := c.repo.git.TypeOf(entry.SHA); err != nil && change.Mode != gitcmd.ModeSubmodule {
			return entry, refuse(http.StatusUnprocessableEntity, "tree.sha "+entry.SHA+" is not a valid object")
		}
	case change.Content != nil:
		sha, err := c.repo.git.WriteBlob([]byte(*change.Content))
		if err != nil {
			return entry, err
		}
		entry.SHA = sha
	}
	return entry, nil
}

func (c *call) getTree() (answer, error) {
	name := c.req.PathValue("tree_sha")
	sha := name
	if kind, err := c.repo.git.TypeOf(name); err != nil || kind != "tree" {
		commit, err := c.repo.git.Resolve(c.ctx, name)
		if err != nil {
			return answer{}, err
		}
		found, err := c.repo.git.Commit(commit)
		if err != nil {
			return answer{}, err
		}
		sha = found.Tree
	}
	tree, err := c.tree(sha, c.query("recursive") != "")
	if err != nil {
		return answer{}, err
	}
	return ok(tree)
}

func (c *call) tree(sha string, recursive bool) (object, error) {
	entries, err := c.repo.git.ListTree(sha, "", recursive)
	if err != nil {
		return nil, err
	}
	return with(c.forge.shape.tree(c.repo, sha), object{
		"truncated": false,
		"tree": each(entries, func(e gitcmd.Entry) object {
			shape := object{"path": e.Path, "mode": e.Mode, "type": e.Type, "sha": e.SHA}
			switch e.Type {
			case "blob":
				shape["size"], shape["url"] = e.Size, c.blobURL(e.SHA)
			case "tree":
				shape["url"] = c.forge.shape.api("/repos/%s/git/trees/%s", c.repo.fullName(), e.SHA)
			}
			return shape
		}),
	}), nil
}

type commitRequest struct {
	Message   string    `json:"message"`
	Tree      string    `json:"tree"`
	Parents   []string  `json:"parents"`
	Author    *identity `json:"author"`
	Committer *identity `json:"committer"`
}

func (c *call) createCommit() (answer, error) {
	in, err := decode[commitRequest](c)
	if err != nil {
		return answer{}, err
	}
	if kind, err := c.repo.git.TypeOf(in.Tree); err != nil || kind != "tree" {
		return answer{}, refuse(http.StatusUnprocessableEntity, "Tree SHA does not exist")
	}
	for _, parent := range in.Parents {
		if err := c.knownCommit(parent); err != nil {
			return answer{}, refuse(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
		}
	}
	author, err := c.signature(in.Author, c.ownSignature())
	if err != nil {
		return answer{}, err
	}
	committer, err := c.signature(in.Committer, author)
	if err != nil {
		return answer{}, err
	}
	commit, err := c.writeCommit(gitcmd.Commit{
		Tree: in.Tree, Parents: in.Parents, Author: author, Committer: committer, Message: in.Message,
	})
	if err != nil {
		return answer{}, err
	}
	return created(c.forge.shape.gitCommit(c.repo, commit))
}

func (c *call) getGitCommit() (answer, error) {
	sha := c.req.PathValue("commit_sha")
	if kind, err := c.repo.git.TypeOf(sha); err != nil || kind != "commit" {
		return answer{}, errNotFound
	}
	commit, err := c.repo.git.Commit(sha)
	if err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.gitCommit(c.repo, commit))
}
