package devforge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// ErrRepositoryName says that a name is not of the form owner/name.
var ErrRepositoryName = errors.New("repository name must be owner/name, of letters, digits, '.', '_' and '-'")

// repositoryName leaves no room for a path: no "..", no leading dot or dash, one slash.
var repositoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// repositorySettings make a bare repository behave as on a forge: force pushes are taken,
// partial clones work, and no garbage collection goes on behind a push.
var repositorySettings = [][2]string{
	{"receive.denyNonFastForwards", "false"},
	{"receive.autogc", "false"},
	{"uploadpack.allowFilter", "true"},
	{"uploadpack.allowReachableSHA1InWant", "true"},
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
	return nil
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
	for _, setting := range repositorySettings {
		if err := f.runGit(ctx, nil, "-C", dir, "config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	return nil
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
	return f.git.run(ctx, invocation{args: args, env: env})
}

// CloneURL is the URL to clone owner/name from and to push it to.
func (f *Forge) CloneURL(name string) string { return f.url + "/" + name + ".git" }

// repositoryDir is the only way from a name to a path.
func (f *Forge) repositoryDir(name string) (string, error) {
	if !repositoryName.MatchString(name) {
		return "", fmt.Errorf("%w: %q", ErrRepositoryName, name)
	}
	return filepath.Join(f.dir, filepath.FromSlash(name)+".git"), nil
}
