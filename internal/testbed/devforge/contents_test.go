package devforge_test

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func TestContents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	repos := w.ada.Repositories
	get := func(path string) (*github.RepositoryContent, error) {
		file, _, _, err := repos.GetContents(w.ctx(), owner, web, path, nil)
		return file, err
	}
	file, err := get("deploy/app.yaml")
	must(t, err)
	if text, err := file.GetContent(); err != nil || text != "one\n" {
		t.Errorf("a file comes with what is in it: got %q, %v", text, err)
	}
	_, folder, _, err := repos.GetContents(w.ctx(), owner, web, "", &github.RepositoryContentGetOptions{Ref: "main"})
	must(t, err)
	if len(folder) != 2 || folder[1].GetType() != "dir" {
		t.Errorf("a folder lists its entries: got %v", folder)
	}
	body, _, err := repos.DownloadContents(w.ctx(), owner, web, "deploy/app.yaml", &github.RepositoryContentGetOptions{Ref: "heads/main"})
	must(t, err)
	defer body.Close()
	if data, err := io.ReadAll(body); err != nil || string(data) != "one\n" {
		t.Errorf("a download is the file: got %q, %v", data, err)
	}
	write := &github.RepositoryContentFileOptions{
		Message: new("write"), Content: []byte("two\n"), Branch: new("main"),
	}
	_, _, err = repos.CreateFile(w.ctx(), owner, web, "deploy/app.yaml", write)
	wantStatus(t, "replacing a file unseen", err, 422)
	write.SHA = new(strings.Repeat("1", 40))
	_, _, err = repos.UpdateFile(w.ctx(), owner, web, "deploy/app.yaml", write)
	wantStatus(t, "replacing another file than the one seen", err, 409)
	write.SHA = file.SHA
	done, _, err := repos.UpdateFile(w.ctx(), owner, web, "deploy/app.yaml", write)
	must(t, err)
	if w.tip("main") != done.Commit.GetSHA() || done.Commit.GetAuthor().GetName() != "ada" {
		t.Errorf("a change is a commit on the branch: got %v", done)
	}
	write.SHA = nil
	_, _, err = repos.CreateFile(w.ctx(), owner, web, "deploy/new file.yaml", write)
	must(t, err)
	file, err = get("deploy/new file.yaml")
	must(t, err)
	_, _, err = repos.DeleteFile(w.ctx(), owner, web, "deploy/new file.yaml", &github.RepositoryContentFileOptions{
		Message: new("drop"), SHA: file.SHA,
	})
	must(t, err)
	_, err = get("deploy/new file.yaml")
	wantStatus(t, "what is deleted", err, 404)
	_, _, err = repos.CreateFile(w.ctx(), owner, web, ".git/config", write)
	wantStatus(t, "a path that Git keeps for itself", err, 422)
}

func TestGitData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	objects, main := w.ada.Git, w.tip("main")
	blob, _, err := objects.CreateBlob(w.ctx(), owner, web, &github.Blob{
		Content: new(base64.StdEncoding.EncodeToString([]byte{0, 1, 2})), Encoding: new("base64"),
	})
	must(t, err)
	tree, _, err := objects.CreateTree(w.ctx(), owner, web, main, []*github.TreeEntry{
		{Path: new("a/b.bin"), Mode: new("100644"), Type: new("blob"), SHA: blob.SHA},
		{Path: new("a/c.txt"), Mode: new("100644"), Type: new("blob"), Content: new("c\n")},
		{Path: new("README"), Mode: new("100644"), Type: new("blob")},
	})
	must(t, err)
	whole, _, err := objects.GetTree(w.ctx(), owner, web, tree.GetSHA(), true)
	must(t, err)
	var paths []string
	for _, e := range whole.Entries {
		paths = append(paths, e.GetPath())
	}
	if diff := cmp.Diff([]string{"a", "a/b.bin", "a/c.txt", "deploy", "deploy/app.yaml"}, paths); diff != "" {
		t.Errorf("a tree is its base with what is changed (-want +got):\n%s", diff)
	}
	commit, _, err := objects.CreateCommit(w.ctx(), owner, web, &github.Commit{
		Message: new("by hand"), Tree: tree, Parents: []*github.Commit{{SHA: &main}},
	}, nil)
	must(t, err)
	ref := &github.Reference{Ref: new("refs/heads/a/b"), Object: &github.GitObject{SHA: commit.SHA}}
	_, _, err = objects.CreateRef(w.ctx(), owner, web, ref)
	must(t, err)
	_, _, err = objects.CreateRef(w.ctx(), owner, web, ref)
	wantStatus(t, "a ref that exists", err, 422)
	got, _, err := objects.GetRef(w.ctx(), owner, web, "heads/a/b")
	must(t, err)
	if got.GetObject().GetSHA() != commit.GetSHA() || w.tip("a/b") != commit.GetSHA() {
		t.Errorf("the ref is at its commit: got %v", got)
	}
	refs, _, err := objects.ListMatchingRefs(w.ctx(), owner, web, &github.ReferenceListOptions{Ref: "heads/a"})
	must(t, err)
	if len(refs) != 1 {
		t.Errorf("one ref begins so: got %v", refs)
	}
	back := &github.Reference{Ref: new("refs/heads/a/b"), Object: &github.GitObject{SHA: &main}}
	_, _, err = objects.UpdateRef(w.ctx(), owner, web, back, false)
	wantStatus(t, "rewriting history without force", err, 422)
	_, _, err = objects.UpdateRef(w.ctx(), owner, web, back, true)
	must(t, err)
	_, err = objects.DeleteRef(w.ctx(), owner, web, "heads/a/b")
	must(t, err)
	_, _, err = objects.GetRef(w.ctx(), owner, web, "heads/a/b")
	wantStatus(t, "a ref that is gone", err, 404)
	read, _, err := objects.GetCommit(w.ctx(), owner, web, commit.GetSHA())
	must(t, err)
	if read.GetMessage() != "by hand" {
		t.Errorf("a commit is read as it was written: got %v", read)
	}
	raw, _, err := objects.GetBlobRaw(w.ctx(), owner, web, blob.GetSHA())
	must(t, err)
	if diff := cmp.Diff([]byte{0, 1, 2}, raw); diff != "" {
		t.Errorf("a blob comes as it is if asked for so (-want +got):\n%s", diff)
	}
	same, _, err := objects.GetBlob(w.ctx(), owner, web, blob.GetSHA())
	must(t, err)
	if same.GetContent() != "AAEC\n" {
		t.Errorf("a blob is read as it was written: got %q", same.GetContent())
	}
}

func TestCommitsAndComparison(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	root := git(t, clone, "rev-parse", "HEAD")
	tip := w.push(clone, "main", "more.txt", "more\n")
	w.push(clone, "topic/x", "topic.txt", "topic\n")

	commit, _, err := w.ada.Repositories.GetCommit(w.ctx(), owner, web, tip, nil)
	must(t, err)
	if commit.GetStats().GetAdditions() != 1 || commit.Files[0].GetPatch() != "@@ -0,0 +1 @@\n+more" || commit.GetAuthor().GetLogin() != "ada" {
		t.Errorf("a commit comes with what it changes: got %v", commit)
	}
	compare, _, err := w.ada.Repositories.CompareCommits(w.ctx(), owner, web, root, "topic/x", nil)
	must(t, err)
	if compare.GetStatus() != "ahead" || compare.GetAheadBy() != 2 || len(compare.Files) != 2 || compare.Commits[0].GetSHA() != tip {
		t.Errorf("a comparison tells how far ahead the head is: got %v", compare)
	}
	history, _, err := w.ada.Repositories.ListCommits(w.ctx(), owner, web, &github.CommitsListOptions{SHA: "topic/x", Path: "more.txt"})
	must(t, err)
	if len(history) != 1 || history[0].GetSHA() != tip {
		t.Errorf("the history of a path is what changed it: got %v", history)
	}
	branch, _, err := w.ada.Repositories.GetBranch(w.ctx(), owner, web, "topic/x", 0)
	must(t, err)
	if branch.GetName() != "topic/x" {
		t.Errorf("a branch's name may have a slash: got %v", branch)
	}
	repo, _, err := w.ada.Repositories.Get(w.ctx(), owner, web)
	must(t, err)
	if repo.GetDefaultBranch() != "main" || !repo.GetPermissions()["push"] || repo.GetPermissions()["admin"] {
		t.Errorf("a repository says what one may do: got %v", repo)
	}
	_, _, err = w.ada.Repositories.GetCommit(w.ctx(), owner, web, "--help", nil)
	wantStatus(t, "a revision is no option", err, 422)
}
