package devlab

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// bulk is from how many refs on a push is one event, which names none of them.
const bulk = 4

// Methods of merging.
const (
	MergeCommit = "merge"
	SemiLinear  = "rebase_merge"
	FastForward = "ff"
)

// project is one project with its repository.
type project struct {
	id     int64
	path   string
	branch string
	public bool
	// untimed has approvals without a time, as older servers have.
	untimed bool
	method  string
	git     *gitcmd.Repository
	refs    map[string]string
	members map[*user]int
	// from is the project that it is a fork of.
	from     *project
	merges   []*mergeRequest
	events   []event
	statuses []*status
}

// event is a push.
type event struct {
	id            int64
	by            *user
	at            time.Time
	action, ref   string
	before, after string
	refs          int
}

// CreateProject makes a project with a first commit on a branch.
func (l *Lab) CreateProject(ctx context.Context, path, branch string, seed fs.FS) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.newProject(ctx, path, branch)
	if err != nil {
		return err
	}
	var entries []gitcmd.Entry
	err = fs.WalkDir(seed, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(seed, name)
		if err != nil {
			return err
		}
		blob, err := p.git.WriteBlob(content)
		entries = append(entries, gitcmd.Entry{Mode: gitcmd.ModeFile, SHA: blob, Path: name})
		return err
	})
	if err != nil {
		return fmt.Errorf("read seed: %w", err)
	}
	tree, err := p.git.WriteTree("", entries)
	if err != nil {
		return err
	}
	who := gitcmd.Signature{Name: "GitLab", Email: "gitlab@localhost", When: l.now()}
	first, err := p.git.Write(ctx, gitcmd.Commit{Tree: tree, Author: who, Committer: who, Message: "Initial commit\n"})
	if err != nil {
		return err
	}
	if err := p.git.SetRef(ctx, "refs/heads/"+branch, first); err != nil {
		return err
	}
	return l.pushed(ctx, p, nil, "refs/heads/"+branch)
}

// newProject makes an empty project. The caller holds the lock.
func (l *Lab) newProject(ctx context.Context, path, branch string) (*project, error) {
	p := &project{id: l.next(), path: path, branch: branch, method: MergeCommit, refs: map[string]string{}, members: map[*user]int{}}
	dir := filepath.Join(l.dir, fmt.Sprintf("%d.git", p.id))
	if err := l.git.Run(ctx, gitcmd.Invocation{Args: []string{"init", "-q", "--bare", "-b", branch, dir}}); err != nil {
		return nil, err
	}
	p.git = gitcmd.Open(l.git, dir)
	l.projects = append(l.projects, p)
	return p, nil
}

// Fork makes somebody's fork of a project, and returns its path.
func (l *Lab) Fork(ctx context.Context, path, username string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of, by := l.project(path), l.user(username)
	if of == nil || by == nil {
		return "", fmt.Errorf("there is no project %s or no user %s", path, username)
	}
	fork, err := l.newProject(ctx, username+"/"+path[strings.LastIndex(path, "/")+1:], of.branch)
	if err != nil {
		return "", err
	}
	fork.from, fork.public, fork.members[by] = of, true, Maintainer
	if err := fork.fetch(ctx, l.git, of, "+refs/heads/*:refs/heads/*"); err != nil {
		return "", err
	}
	fork.refs, err = fork.git.Refs(ctx)
	return fork.path, err
}

// fetch brings objects and refs of another project into one.
func (p *project) fetch(ctx context.Context, git *gitcmd.Runner, from *project, spec string) error {
	return git.Run(ctx, gitcmd.Invocation{Args: []string{"fetch", "-q", from.git.Dir(), spec}, Env: []string{"GIT_DIR=" + p.git.Dir()}})
}

// Grant gives somebody a level of access to a project. A project is public once anybody may only
// read it.
func (l *Lab) Grant(path, username string, level int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, who := l.project(path), l.user(username)
	if p == nil || who == nil {
		return fmt.Errorf("there is no project %s or no user %s", path, username)
	}
	p.members[who] = level
	if level == NoAccess {
		delete(p.members, who)
	}
	p.public = p.public || level < Developer
	return nil
}

// SetMergeMethod sets how a project merges.
func (l *Lab) SetMergeMethod(path, method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.project(path)
	if p == nil {
		return fmt.Errorf("there is no project %s", path)
	}
	p.method = method
	return nil
}

// Untime has approvals of a project without a time, as on older servers.
func (l *Lab) Untime(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.project(path)
	if p == nil {
		return fmt.Errorf("there is no project %s", path)
	}
	p.untimed = true
	return nil
}

// project finds a project by its path or number. The caller holds the lock.
func (l *Lab) project(path string) *project {
	i := slices.IndexFunc(l.projects, func(p *project) bool { return strings.EqualFold(p.path, path) || fmt.Sprint(p.id) == path })
	if i < 0 {
		return nil
	}
	return l.projects[i]
}

func (p *project) level(u *user) int { return p.members[u] }

func (p *project) visibleTo(u *user) bool { return p.public || p.members[u] > 0 }

// head returns the commit of a branch; empty if there is none.
func (p *project) head(branch string) string { return p.refs["refs/heads/"+branch] }

// moved is a ref that came, went or moved.
type moved struct{ ref, before, after string }

// pushed has a push take effect: an event for each branch, or one for all of many; another version
// of merge requests from them; and a merge of those into them whose head they have now. The caller
// holds the lock.
func (l *Lab) pushed(ctx context.Context, p *project, by *user, named ...string) error {
	refs, err := p.git.Refs(ctx)
	if err != nil {
		return err
	}
	var changes []moved
	for _, ref := range named {
		before, after := p.refs[ref], refs[ref]
		if before == after || !strings.HasPrefix(ref, "refs/heads/") {
			continue
		}
		changes = append(changes, moved{strings.TrimPrefix(ref, "refs/heads/"), before, after})
		if p.refs[ref] = after; after == "" {
			delete(p.refs, ref)
		}
	}
	if len(changes) >= bulk {
		p.events = append(p.events, event{id: l.next(), by: by, at: l.now(), action: "pushed", refs: len(changes)})
	}
	for _, c := range changes {
		if len(changes) < bulk {
			p.events = append(p.events, l.eventOf(c, by))
		}
		if err := l.follow(ctx, p, by, c); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) eventOf(c moved, by *user) event {
	action := "pushed"
	switch {
	case c.before == "":
		action = "created"
	case c.after == "":
		action = "removed"
	}
	return event{id: l.next(), by: by, at: l.now(), action: action, ref: c.ref, before: c.before, after: c.after}
}

// follow has merge requests follow a branch.
func (l *Lab) follow(ctx context.Context, p *project, by *user, c moved) error {
	if c.after == "" {
		return nil
	}
	for _, into := range l.projects {
		for _, m := range into.merges {
			if m.state == "opened" && m.from == p && m.source == c.ref {
				if err := l.version(ctx, into, m, c.after); err != nil {
					return err
				}
			}
		}
	}
	for _, m := range p.merges {
		if m.state == "opened" && m.target == c.ref && p.git.IsAncestor(m.head(), c.after) {
			if err := l.manual(ctx, p, m, by, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// manual marks a merge request as merged by a push: by the first commit of the branch that has its
// head.
func (l *Lab) manual(ctx context.Context, p *project, m *mergeRequest, by *user, c moved) error {
	made := c.after
	if c.before != "" {
		commits, err := p.git.Log(ctx, "--first-parent", "--reverse", c.before+".."+c.after)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(commits, func(g gitcmd.Commit) bool { return p.git.IsAncestor(m.head(), g.SHA) }); i >= 0 {
			made = commits[i].SHA
		}
	}
	m.state, m.mergeUser, m.mergedAt, m.mergeCommit = "merged", by, l.now(), made
	return nil
}
