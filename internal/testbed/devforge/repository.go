package devforge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// ErrRepositoryName says that a name is not of the form owner/name.
var ErrRepositoryName = errors.New("repository name must be owner/name, of letters, digits, '.', '_' and '-'")

// repositoryName leaves no room for a path: no "..", no leading dot or dash, one slash.
var repositoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// repositorySettings make a bare repository behave as on a forge: force pushes are taken,
// partial clones work, and no garbage collection goes on behind a push.
const repositorySettings = `[receive]
	denyNonFastForwards = false
	autogc = false
	hideRefs = refs/pull
[uploadpack]
	allowFilter = true
	allowReachableSHA1InWant = true
`

// repository is the forge's record of one bare repository.
type repository struct {
	id      int64
	owner   *account
	name    string
	created time.Time
	git     *gitcmd.Repository
	public  atomic.Bool
	// tidy has the branches of merged pull requests removed.
	tidy atomic.Bool

	// mu is held while a request on the repository is served, and guards what follows.
	mu            sync.Mutex
	defaultBranch string
	// refs are the branches and tags that the events so far have told of.
	refs        map[string]string
	pushed      time.Time
	pulls       []*pull // the number of each is its place, from 1
	statuses    map[string][]*status
	suites      []*checkSuite
	runs        []*checkRun
	deployments []*deployment
	hooks       []*hook
	// activities are the moves of branches so far, oldest first.
	activities []activity
	// pushing are the pushes in progress.
	pushing []*push
}

// change returns a commit with what it changes against its first parent.
func (r *repository) change(ctx context.Context, sha string) (gitcmd.Commit, []gitcmd.Change, error) {
	commit, err := r.git.Commit(sha)
	if err != nil {
		return commit, nil, err
	}
	parent := ""
	if len(commit.Parents) > 0 {
		parent = commit.Parents[0]
	}
	changes, err := r.git.Diff(ctx, parent, sha)
	return commit, changes, err
}

func (r *repository) fullName() string { return r.owner.login + "/" + r.name }

// registry finds repositories by name, without regard to case.
type registry struct {
	mu     sync.Mutex
	byName map[string]*repository
}

func (g *registry) get(name string) *repository {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byName[strings.ToLower(name)]
}

// put keeps the first repository of a name and gives it back.
func (g *registry) put(repo *repository) *repository {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := strings.ToLower(repo.fullName())
	if known := g.byName[key]; known != nil {
		return known
	}
	g.byName[key] = repo
	return repo
}

// CreateRepository makes the bare repository owner/name with the branch as its default one.
// The files of seed, if it is not nil, are its first commit. A repository that exists is an error.
func (f *Forge) CreateRepository(ctx context.Context, name, branch string, seed fs.FS) error {
	dir, err := f.repositoryDir(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("create repository %s: %w", name, fs.ErrExist)
	}
	if err := f.create(ctx, dir, branch, seed); err != nil {
		return errors.Join(fmt.Errorf("create repository %s: %w", name, err), os.RemoveAll(dir))
	}
	_, err = f.repository(ctx, name)
	return err
}

// repository finds owner/name, also where an earlier forge has left it in the folder.
func (f *Forge) repository(ctx context.Context, name string) (*repository, error) {
	dir, err := f.repositoryDir(name)
	if err != nil {
		return nil, err
	}
	if repo := f.repos.get(name); repo != nil {
		return repo, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, ErrUnknown)
	}
	return f.adopt(ctx, name, gitcmd.Open(f.git, dir))
}

// adopt begins to keep what is not Git about a repository: from here on its refs give events.
func (f *Forge) adopt(ctx context.Context, name string, git *gitcmd.Repository) (*repository, error) {
	refs, err := git.Refs(ctx)
	if err != nil {
		return nil, err
	}
	branch, err := git.DefaultBranch()
	if err != nil {
		return nil, err
	}
	owner, short, _ := strings.Cut(name, "/")
	return f.repos.put(&repository{
		id: f.ids.next(), owner: f.who.owner(account{id: f.ids.next(), login: owner, kind: kindOrganization, created: f.now()}),
		name: short, created: f.now(), pushed: f.now(), git: git,
		defaultBranch: branch, refs: refs, statuses: map[string][]*status{},
	}), nil
}

// owner returns the account of that login, which is the one given if there is none yet.
func (d *directory) owner(missing account) *account {
	made, err := d.add(missing)
	if err != nil {
		return d.account(missing.login)
	}
	return made
}

func (f *Forge) create(ctx context.Context, dir, branch string, seed fs.FS) error {
	if err := f.initialise(ctx, dir, branch); err != nil || seed == nil {
		return err
	}
	return f.commitSeed(ctx, dir, seed)
}

func (f *Forge) initialise(ctx context.Context, dir, branch string) error {
	if err := f.runGit(ctx, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch="+branch, dir); err != nil {
		return err
	}
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open settings: %w", err)
	}
	_, err = io.WriteString(config, repositorySettings)
	return errors.Join(err, config.Close())
}

// commitSeed writes the first commit from a work tree and an index that last only that long.
func (f *Forge) commitSeed(ctx context.Context, dir string, seed fs.FS) error {
	scratch, err := os.MkdirTemp(f.dir, "seed-")
	if err != nil {
		return fmt.Errorf("make work tree: %w", err)
	}
	defer os.RemoveAll(scratch)
	tree := filepath.Join(scratch, "tree")
	if err := os.CopyFS(tree, seed); err != nil {
		return fmt.Errorf("copy seed: %w", err)
	}
	env := []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + tree, "GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	if err := f.runGit(ctx, env, "add", "--all", "--force"); err != nil {
		return err
	}
	return f.runGit(ctx, env, "commit", "--quiet", "--allow-empty", "--message=First commit")
}

func (f *Forge) runGit(ctx context.Context, env []string, args ...string) error {
	return f.git.Run(ctx, gitcmd.Invocation{Args: args, Env: env})
}

// CloneURL returns the URL to clone owner/name from and to push it to.
func (f *Forge) CloneURL(name string) string { return f.url + "/" + name + ".git" }

// repositoryDir returns the only way from a name to a path.
func (f *Forge) repositoryDir(name string) (string, error) {
	if !repositoryName.MatchString(name) {
		return "", fmt.Errorf("%w: %q", ErrRepositoryName, name)
	}
	return filepath.Join(f.dir, filepath.FromSlash(name)+".git"), nil
}
