package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// CacheDirEnv names the environment variable that moves the cache of built programs from the
// user's cache folder to another place.
const CacheDirEnv = "SLUICE_CACHE_DIR"

// progressInterval is how often a build that goes on says so.
const progressInterval = 5 * time.Second

// BinDir is a folder that holds programs.
type BinDir string

// Kubectl returns the path of kubectl, of the same version as the control plane.
func (d BinDir) Kubectl() string { return d.Path("kubectl") }

// Path returns the path of a program by its name.
func (d BinDir) Path(program string) string { return filepath.Join(string(d), program) }

// Binaries returns the folder of the control plane's programs at the versions that the checkout
// around the current directory pins. It downloads or builds missing programs first, which takes
// minutes, and reports on progress. Concurrent processes build once.
func Binaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	return controlPlane.binaries(ctx, progress)
}

// NodeBinaries returns Binaries for what a real node takes: kubelet and kube-proxy.
func NodeBinaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	return node.binaries(ctx, progress)
}

// DataPlaneBinaries returns Binaries for what serves Gateway API's routes: Traefik.
func DataPlaneBinaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	return dataPlane.binaries(ctx, progress)
}

// GiteaBinaries returns Binaries for a forge: Gitea, with the folders of files that it reads. To
// build it takes a C compiler.
func GiteaBinaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	return gitea.binaries(ctx, progress)
}

// PrometheusBinaries returns Binaries for a server of metrics: Prometheus.
func PrometheusBinaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	return prometheus.binaries(ctx, progress)
}

// Traefik returns the path of Traefik, of DataPlaneBinaries.
func (d BinDir) Traefik() string { return d.Path("traefik") }

func (s set) binaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	source, err := InCheckout(s.dir)
	if err != nil {
		return "", err
	}
	m, err := readModule(source, s)
	if err != nil {
		return "", err
	}
	return cached(ctx, progress, m.key(), s.what, func(dir string) error { return m.build(ctx, dir, progress) })
}

// cached returns the folder of that name in the cache, and builds it first if it is missing.
func cached(ctx context.Context, progress io.Writer, key, what string, build func(dir string) error) (BinDir, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, key)
	if built, err := exists(dir); built || err != nil {
		return BinDir(dir), err
	}
	unlock, err := lockFile(ctx, dir+".lock", func() {
		fmt.Fprintf(progress, "waiting for another process to build %s\n", what)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if built, err := exists(dir); built || err != nil {
		return BinDir(dir), err
	}
	return BinDir(dir), build(dir)
}

// whole fills a folder next to dir and moves it there at once, so that a folder of that name is
// always whole.
func whole(dir string, fill func(tmp string) error) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("keep the built programs: %w", err)
	}
	return nil
}

// cacheDir returns where built programs are kept, made if it is missing.
func cacheDir() (string, error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "controlplane")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	return dir, nil
}

// cacheRoot returns the folder of all that is kept outside of the checkout.
func cacheRoot() (string, error) {
	if root := os.Getenv(CacheDirEnv); root != "" {
		return root, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (%s names another): %w", CacheDirEnv, err)
	}
	return filepath.Join(user, "sluice"), nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into the cache: %w", err)
	}
	return true, nil
}

// build fills dir with all programs, built or downloaded as the Kubernetes project has built them.
// After one download that fails there is no other.
func (m *module) build(ctx context.Context, dir string, progress io.Writer) error {
	fmt.Fprintf(progress, "building %s, once, into %s\n", m.what, dir)
	official, err := m.release()
	if err != nil {
		return err
	}
	return whole(dir, func(tmp string) error {
		for i, p := range m.programs {
			what := fmt.Sprintf("%s %s (%d/%d)", p.name, m.versions[p.module], i+1, len(m.programs))
			out := filepath.Join(tmp, p.name)
			if path, pinned := official.path(m, p); pinned {
				err := timed(progress, "downloading "+what, func() error { return official.download(ctx, path, out) })
				if err == nil {
					continue
				}
				fmt.Fprintf(progress, "no official program is used, all else is built (%v)\n", err)
				official = release{}
			}
			if err := timed(progress, "building "+what, func() error { return m.goBuild(ctx, out, p.pkg) }); err != nil {
				return fmt.Errorf("build %s: %w", p.name, err)
			}
		}
		return m.copyFiles(ctx, tmp)
	})
}

// copyFiles copies the folders that a program reads to where it was built.
func (m *module) copyFiles(ctx context.Context, to string) error {
	if len(m.files) == 0 {
		return nil
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", m.named[0].path)
	list.Dir = m.dir
	list.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	found, err := list.Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", m.named[0].path, err)
	}
	for _, folder := range m.files {
		from := os.DirFS(filepath.Join(strings.TrimSpace(string(found)), folder))
		if err := os.CopyFS(filepath.Join(to, folder), from); err != nil {
			return fmt.Errorf("copy files of %s: %w", m.named[0].path, err)
		}
	}
	return nil
}

// goBuild builds the main package pkg to the file out.
func (m *module) goBuild(ctx context.Context, out, pkg string) error {
	args := append([]string{"build", "-o", out}, m.buildFlags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = m.dir
	// A workspace or flags of the caller's are about another module.
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), m.env...)
	// The compilers that go starts have to end with it, whoever is asked to stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(context.Cause(ctx), err), lastLines(output.Bytes()))
	}
	return nil
}

// timed does what it says and reports on it.
func timed(progress io.Writer, what string, do func() error) error {
	defer report(progress, what)()
	return do()
}

// report writes what now and again, with the time it took so far, until the function returned is
// called.
func report(w io.Writer, what string) (stop func()) {
	begin := time.Now()
	fmt.Fprintf(w, "%s…\n", what)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "%s… %s\n", what, time.Since(begin).Round(time.Second))
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}
