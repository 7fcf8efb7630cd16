package devforge

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// escapePath makes a path fit for a URL, slashes left as they are.
func escapePath(name string) string { return (&url.URL{Path: name}).EscapedPath() }

func (c *call) getContents() (answer, error) {
	ref := c.query("ref")
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	sha, err := c.repo.git.Resolve(c.ctx, ref)
	if err != nil {
		return answer{}, refuse(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	name := strings.Trim(c.req.PathValue("path"), "/")
	if name == "" {
		return c.listFolder(sha, ref, "")
	}
	entry, err := c.repo.git.Entry(sha, name)
	if err != nil {
		return answer{}, err
	}
	if entry.Type == "tree" {
		return c.listFolder(sha, ref, name+"/")
	}
	if c.wantsRaw() && entry.Type == "blob" {
		return c.raw(entry.SHA)
	}
	file, err := c.file(entry, ref)
	if err != nil {
		return answer{}, err
	}
	return ok(file)
}

// raw returns a blob as it is.
func (c *call) raw(sha string) (answer, error) {
	data, err := c.repo.git.ReadBlob(sha)
	if err != nil {
		return answer{}, err
	}
	return ok(data)
}

func (c *call) listFolder(sha, ref, folder string) (answer, error) {
	entries, err := c.repo.git.ListTree(sha, strings.TrimSuffix(folder, "/"), false)
	if err != nil {
		return answer{}, err
	}
	return ok(each(entries, func(e gitcmd.Entry) object { return c.content(e, ref) }))
}

// content returns an entry without what is in it.
func (c *call) content(e gitcmd.Entry, ref string) object {
	s, repo, name := c.forge.shape, c.repo.fullName(), escapePath(e.Path)
	kind, data, page := "file", "blobs", "blob"
	switch {
	case e.Type == "tree":
		kind, data, page = "dir", "trees", "tree"
	case e.Mode == gitcmd.ModeSymlink:
		kind = "symlink"
	case e.Mode == gitcmd.ModeSubmodule:
		kind, data = "submodule", "trees"
	}
	self := s.api("/repos/%s/contents/%s?ref=%s", repo, name, url.QueryEscape(ref))
	git, html := s.api("/repos/%s/git/%s/%s", repo, data, e.SHA), s.html("/%s/%s/%s/%s", repo, page, ref, name)
	var download any
	if e.Type == "blob" {
		download = s.html("/%s/raw/%s/%s", repo, url.PathEscape(ref), name)
	}
	return object{
		"type": kind, "name": path.Base(e.Path), "path": e.Path, "sha": e.SHA, "size": e.Size, "url": self, "git_url": git,
		"html_url": html, "download_url": download, "_links": object{"self": self, "git": git, "html": html},
	}
}

// file returns an entry with what is in it.
func (c *call) file(e gitcmd.Entry, ref string) (object, error) {
	shape := c.content(e, ref)
	if e.Type != "blob" {
		return nil, errNotFound // a submodule, whose address stands in a file that the forge does not read
	}
	data, err := c.repo.git.ReadBlob(e.SHA)
	if err != nil {
		return nil, err
	}
	if e.Mode == gitcmd.ModeSymlink {
		shape["target"] = string(data)
		return shape, nil
	}
	shape["encoding"], shape["content"] = "base64", encode64(data)
	return shape, nil
}

// encode64 breaks lines after 60 characters, as GitHub does.
func encode64(data []byte) string {
	text := base64.StdEncoding.EncodeToString(data)
	var lines strings.Builder
	for len(text) > 60 {
		lines.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	lines.WriteString(text + "\n")
	return lines.String()
}

type identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Date  string `json:"date"`
}

type contentRequest struct {
	Message   string    `json:"message"`
	Content   *string   `json:"content"`
	SHA       string    `json:"sha"`
	Branch    string    `json:"branch"`
	Author    *identity `json:"author"`
	Committer *identity `json:"committer"`
}

func (c *call) putContents() (answer, error) {
	in, err := decode[contentRequest](c)
	if err != nil {
		return answer{}, err
	}
	if in.Content == nil || in.Message == "" {
		return answer{}, refuse(http.StatusUnprocessableEntity, `Invalid request. "message" and "content" must be supplied.`)
	}
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(*in.Content, "\n", ""))
	if err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, "content is not valid Base64")
	}
	blob, err := c.repo.git.WriteBlob(data)
	if err != nil {
		return answer{}, err
	}
	return c.writeContents(in, gitcmd.Entry{Mode: gitcmd.ModeFile, SHA: blob, Path: c.req.PathValue("path")})
}

func (c *call) deleteContents() (answer, error) {
	in, err := decode[contentRequest](c)
	if err != nil {
		return answer{}, err
	}
	if in.SHA == "" || in.Message == "" {
		return answer{}, refuse(http.StatusUnprocessableEntity, `Invalid request. "message" and "sha" must be supplied.`)
	}
	return c.writeContents(in, gitcmd.Entry{SHA: gitcmd.Zero, Path: c.req.PathValue("path")})
}

// writeContents puts one changed entry onto a branch as a commit.
func (c *call) writeContents(in contentRequest, entry gitcmd.Entry) (answer, error) {
	if in.Branch == "" {
		in.Branch = c.repo.defaultBranch
	}
	tip, found := c.repo.refs[branchPrefix+in.Branch]
	if !found {
		return answer{}, refuse(http.StatusNotFound, "Branch "+in.Branch+" not found")
	}
	before, err := c.repo.git.Entry(tip, entry.Path)
	if err := checkReplaced(before, err, in.SHA, entry); err != nil {
		return answer{}, err
	}
	commit, err := c.commitEntry(in, tip, entry)
	if err != nil {
		return answer{}, err
	}
	if err := c.moveRef(branchPrefix+in.Branch, commit.SHA, tip); err != nil {
		return answer{}, err
	}
	shape := c.forge.shape.gitCommit(c.repo, commit)
	if entry.SHA == gitcmd.Zero {
		return ok(object{"content": nil, "commit": shape})
	}
	written, err := c.repo.git.Entry(commit.SHA, entry.Path)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusCreated
	if before.SHA != "" {
		status = http.StatusOK
	}
	return answer{status, object{"content": c.content(written, in.Branch), "commit": shape}}, nil
}

// checkReplaced holds a change back that names another blob than the one it would replace.
func checkReplaced(before gitcmd.Entry, lookup error, sha string, entry gitcmd.Entry) error {
	switch {
	case errors.Is(lookup, gitcmd.ErrNotFound) && entry.SHA == gitcmd.Zero:
		return errNotFound
	case errors.Is(lookup, gitcmd.ErrNotFound):
		return nil
	case lookup != nil:
		return lookup
	case sha == "":
		return refuse(http.StatusUnprocessableEntity, `Invalid request. "sha" wasn't supplied.`)
	case before.SHA != sha:
		return refuse(http.StatusConflict, entry.Path+" does not match "+sha)
	}
	return nil
}

func (c *call) commitEntry(in contentRequest, tip string, entry gitcmd.Entry) (gitcmd.Commit, error) {
	tree, err := c.repo.git.WriteTree(tip, []gitcmd.Entry{entry})
	if err != nil {
		return gitcmd.Commit{}, refuse(http.StatusUnprocessableEntity, "path contains a malformed path component")
	}
	author, err := c.signature(in.Author, c.ownSignature())
	if err != nil {
		return gitcmd.Commit{}, err
	}
	committer, err := c.signature(in.Committer, author)
	if err != nil {
		return gitcmd.Commit{}, err
	}
	return c.writeCommit(gitcmd.Commit{Tree: tree, Parents: []string{tip}, Author: author, Committer: committer, Message: in.Message})
}

// writeCommit stores a commit and gives it back as it is read.
func (c *call) writeCommit(commit gitcmd.Commit) (gitcmd.Commit, error) {
	sha, err := c.repo.git.Write(c.ctx, commit)
	if err != nil {
		return gitcmd.Commit{}, err
	}
	return c.repo.git.Commit(sha)
}

// ownSignature returns the caller's.
func (c *call) ownSignature() gitcmd.Signature { return c.forge.signatureOf(c.by.account) }

func (f *Forge) signatureOf(a *account) gitcmd.Signature {
	return gitcmd.Signature{Name: a.login, Email: a.email, When: f.now()}
}
