package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Files and folders of a Standing.
const (
	turnFile   = "turn"        // locked by who starts, ends or enters it
	keeperFile = "keeper"      // locked by the keeper, for its life
	accessFile = "access.json" // a record, there from the moment at which all is ready
	keeperLog  = "keeper.log"
	stateName  = "state"
	usesDir    = "uses"
)

const (
	// endTimeout bounds the end of the keeper: each component is killed after killAfter.
	endTimeout = 30 * time.Second
	// answerTimeout bounds the answer of an API server that is about to be used.
	answerTimeout = 5 * time.Second
	// mostAudit is the size of the audit log at which many runs have filled a control plane.
	mostAudit = 1 << 30
)

// A Standing is a control plane of this checkout that outlives the command that starts it. A
// process, the keeper, runs it; test runs that come and go use it.
//
// All about it is in a folder of the user's own, below the cache folder. The keeper and each user
// hold a lock for as long as they live, so files that a crash left are known for what they are.
type Standing struct {
	dir     string
	options Options
}

// A record tells users of a Standing how to use it.
type record struct {
	Access

	// Identity is the hash of what made it: see Standing.identity.
	Identity string `json:"identity"`
}

// StandingHere returns the Standing of the checkout around the current directory. Nothing is made.
func StandingHere(options Options) (*Standing, error) {
	root, err := InCheckout(".")
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	cache, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(root))
	name := filepath.Base(root) + "-" + hex.EncodeToString(sum[:6])
	return &Standing{dir: filepath.Join(cache, "up", name), options: options.withDefaults()}, nil
}

func (s *Standing) path(name string) string { return filepath.Join(s.dir, name) }

// Up starts the control plane, unless one runs that is fit to use. A command runs the keeper: one
// that calls Keep.
func (s *Standing) Up(ctx context.Context, keeper ...string) (Access, error) {
	for _, dir := range []string{s.dir, s.path(usesDir)} {
		if err := makePrivate(dir); err != nil {
			return Access{}, err
		}
	}
	done, err := s.turn(ctx)
	if err != nil {
		return Access{}, err
	}
	defer done()
	found, unfit, err := s.inspect(ctx)
	if err != nil || found != nil {
		return found.access(), err
	}
	if unfit != "" {
		fmt.Fprintf(s.options.Progress, "the control plane of make up is replaced: %s\n", unfit)
	}
	live, _, err := s.uses()
	if err != nil {
		return Access{}, err
	}
	if live > 0 {
		return Access{}, fmt.Errorf("replace the control plane of make up: %d processes use it (%s)", live, unfit)
	}
	if err := s.end(ctx); err != nil {
		return Access{}, err
	}
	return s.start(ctx, keeper)
}

// Down ends the control plane, in whatever state it is, and removes what it left. It reports
// whether there was one.
func (s *Standing) Down(ctx context.Context) (ended bool, err error) {
	if err := checkPrivate(s.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	done, err := s.turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	pid, err := lockHolder(s.path(keeperFile))
	if err != nil {
		return false, err
	}
	return pid > 0, s.end(ctx)
}

// turn waits until nobody else starts, ends or enters the control plane.
func (s *Standing) turn(ctx context.Context) (done func(), err error) {
	return lockFile(ctx, s.path(turnFile), func() {
		fmt.Fprintln(s.options.Progress, "waiting for another process that starts, ends or enters the control plane of make up")
	})
}

// end ends the keeper, and removes what it and dead users left.
func (s *Standing) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endTimeout, fmt.Errorf("it has not ended within %v", endTimeout))
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for asked := false; ; asked = true {
		pid, err := lockHolder(s.path(keeperFile))
		if err != nil {
			return err
		}
		if pid == 0 {
			break
		}
		if err := s.askToEnd(pid, asked); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("end the control plane of make up, process %d: %w", pid, context.Cause(ctx))
		}
	}
	for _, left := range []string{accessFile, stateName, usesDir} {
		if err := os.RemoveAll(s.path(left)); err != nil {
			return fmt.Errorf("remove what the control plane of make up left: %w", err)
		}
	}
	return nil
}

func (s *Standing) askToEnd(pid int, asked bool) error {
	if asked {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end the control plane of make up, process %d: %w", pid, err)
	}
	return nil
}

// start starts the keeper, and waits until the control plane is ready. The keeper belongs to no
// terminal.
func (s *Standing) start(ctx context.Context, keeper []string) (Access, error) {
	if _, err := Binaries(ctx, s.options.Progress); err != nil { // which may take minutes, and tells
		return Access{}, err
	}
	if err := makePrivate(s.path(usesDir)); err != nil {
		return Access{}, err
	}
	log, err := os.OpenFile(s.path(keeperLog), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return Access{}, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()                             // the keeper has its own
	cmd := exec.Command(keeper[0], keeper[1:]...) //nolint:noctx // it outlives us
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Access{}, fmt.Errorf("start the control plane of make up: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case err := <-ended:
			said, _ := os.ReadFile(log.Name())
			return Access{}, fmt.Errorf("start the control plane of make up: %w\n%s", err, lastLines(said))
		case <-ctx.Done():
			return Access{}, errors.Join(fmt.Errorf("start the control plane of make up: %w", context.Cause(ctx)), cmd.Process.Signal(syscall.SIGTERM))
		}
		if found, err := s.record(); err == nil {
			return found.Access, nil
		}
	}
}

// Keep runs the control plane until the context or a component ends. It is the keeper, which holds
// the lock.
func (s *Standing) Keep(ctx context.Context) (err error) {
	if err := checkPrivate(s.dir); err != nil {
		return err
	}
	lock, err := holdLock(s.path(keeperFile))
	if err != nil {
		return err
	}
	defer lock.Close()
	identity, err := s.identity()
	if err != nil {
		return err
	}
	options := s.options
	options.Dir = s.path(stateName)
	cp, err := Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(s.path(accessFile)), cp.Stop(), os.RemoveAll(options.Dir)) }()
	access := cp.Access
	access.Standing = s.dir
	if err := saveWhole(s.path(accessFile), record{Access: access, Identity: identity}); err != nil {
		return err
	}
	if err := cp.Wait(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// saveWhole writes value to a file that is whole whenever it is there.
func saveWhole(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode access: %w", err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("write access: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write access: %w", err)
	}
	return nil
}

func (s *Standing) record() (*record, error) {
	data, err := os.ReadFile(s.path(accessFile))
	if err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("decode access in %s: %w", s.path(accessFile), err)
	}
	return r, nil
}

// access returns the zero value for no record.
func (r *record) access() Access {
	if r == nil {
		return Access{}
	}
	return r.Access
}

// identity hashes what makes the control plane: the options, the versions of its programs, the
// source of this package with its flags, and all of config, which tests apply.
func (s *Standing) identity() (string, error) {
	hash := sha256.New()
	options := s.options
	options.Progress, options.Dir = nil, ""
	fmt.Fprintf(hash, "%+v\n", options)
	for _, from := range []string{moduleDir, "internal/testbed/controlplane", "config"} {
		root, err := InCheckout(from)
		if err != nil {
			return "", err
		}
		files := os.DirFS(root)
		err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := fs.ReadFile(files, path)
			fmt.Fprintf(hash, "%s %s %x\n", from, path, sha256.Sum256(content))
			return err
		})
		if err != nil {
			return "", fmt.Errorf("read what makes the control plane: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// inspect looks for a control plane to use. It returns none, and why, if what it finds is unfit,
// and neither if there is nothing.
func (s *Standing) inspect(ctx context.Context) (found *record, unfit string, err error) {
	pid, err := lockHolder(s.path(keeperFile))
	if err != nil {
		return nil, "", err
	}
	found, err = s.record()
	switch {
	case pid == 0 && errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case pid == 0:
		return nil, "it has ended (" + s.path(keeperLog) + ")", nil
	case err != nil:
		return nil, fmt.Sprintf("process %d runs it, and is not ready or ends: %v", pid, err), nil
	}
	if unfit, err := s.unfit(ctx, found); unfit != "" || err != nil {
		return nil, unfit, err
	}
	return found, "", nil
}

// unfit returns why a control plane that runs is not to be used.
func (s *Standing) unfit(ctx context.Context, found *record) (string, error) {
	wanted, err := s.identity()
	if err != nil {
		return "", err
	}
	_, dead, err := s.uses()
	switch {
	case err != nil:
		return "", err
	case found.Identity != wanted:
		return "the checkout has other versions, flags or config by now", nil
	case dead > 0:
		return "a test run was killed, or could not clean up", nil
	}
	size, err := found.auditSize()
	if err != nil {
		return err.Error(), nil //nolint:nilerr // it is unfit
	}
	if size > mostAudit {
		return "many runs have filled it", nil
	}
	if err := found.answers(ctx); err != nil {
		return fmt.Sprintf("it does not answer: %v", err), nil
	}
	return "", nil
}

// auditSize returns the size of all audit logs.
func (a Access) auditSize() (int64, error) {
	if a.AuditLog == "" {
		return 0, nil
	}
	logs, err := auditFiles(a.AuditLog)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			return 0, fmt.Errorf("measure audit logs: %w", err)
		}
		size += info.Size()
	}
	return size, nil
}

// answers returns nil if the API server is ready.
func (a Access) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	out, err := a.Kubectl(ctx, "get", "--raw", "/readyz").CombinedOutput()
	if err == nil && !bytes.Equal(out, []byte("ok")) {
		err = errors.New("it is not ready")
	}
	if err != nil {
		return fmt.Errorf("ask kube-apiserver: %w: %s", err, lastLines(out))
	}
	return nil
}
