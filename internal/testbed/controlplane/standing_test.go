package controlplane

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain reads the role of this test binary from RoleEnv.
const (
	RoleEnv    = "SLUICE_TEST_STANDING"
	KeeperRole = "keeper"
	userRole   = "user"
)

// StandingOptions start one node for the tests.
var StandingOptions = Options{Nodes: 1}

// standingOf returns the Standing of a cache folder of the test's own, which has the user's
// programs.
func standingOf(t *testing.T) *Standing {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	programs, err := Binaries(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	if err := os.Symlink(filepath.Dir(string(programs)), filepath.Join(cache, "controlplane")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(CacheDirEnv, cache)
	standing, err := StandingHere(StandingOptions.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := standing.Down(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return standing
}

// up starts the control plane and returns its kubeconfig, which is of this start alone.
func up(t *testing.T, s *Standing) (kubeconfig string) {
	t.Helper()
	t.Setenv(RoleEnv, KeeperRole)
	access, err := s.Up(t.Context(), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return read(t, access.Kubeconfig)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// enter starts a process that uses the control plane until leave is closed.
func enter(t *testing.T) (user *exec.Cmd, leave io.Closer) {
	t.Helper()
	user = exec.CommandContext(t.Context(), os.Args[0])
	user.Env = append(os.Environ(), RoleEnv+"="+userRole)
	user.Stderr = os.Stderr
	stdin, err := user.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := user.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("want a user, got %q, %v", line, err)
	}
	return user, stdin
}

// wantUnfit wants the control plane not to be used, for a reason: none if there is none.
func wantUnfit(t *testing.T, s *Standing, why string) {
	t.Helper()
	use, unfit, err := s.Use(t.Context())
	if use != nil || err != nil || !strings.Contains(unfit, why) || (unfit == "") != (why == "") {
		t.Errorf("want no control plane because %s, got %v, %q, %v", why, use, unfit, err)
	}
}

// TestControlPlaneStays: a control plane stays until somebody ends it. After a crash, a killed
// user or a change of the checkout it is not used, but replaced.
func TestControlPlaneStays(t *testing.T) {
	s := standingOf(t)
	wantUnfit(t, s, "") // there is none
	first := up(t, s)
	use, unfit, err := s.Use(t.Context())
	if err != nil || use == nil {
		t.Fatalf("want a control plane to use, got %q, %v", unfit, err)
	}
	if access, err := LoadAccess(use.Path()); err != nil || access != use.Access || read(t, access.Kubeconfig) != first {
		t.Errorf("want the access of the control plane at %s, got %+v, %v", use.Path(), access, err)
	}
	if err := use.Leave(); err != nil {
		t.Error(err)
	}
	user, leave := enter(t)
	if again := up(t, s); again != first {
		t.Error("want a control plane that is fit and used to stay, it was replaced")
	}

	another := &Standing{dir: s.dir, options: s.options}
	another.options.Nodes = 2
	wantUnfit(t, another, "other versions, flags or config")
	if _, err := another.Up(t.Context(), os.Args[0]); err == nil || !strings.Contains(err.Error(), "1 processes use it") {
		t.Errorf("want nobody to replace a control plane that is used, got %v", err)
	}
	if err := leave.Close(); err != nil {
		t.Error(err)
	}
	if err := user.Wait(); err != nil {
		t.Errorf("leave: %v", err)
	}

	user, _ = enter(t)
	kill(t, user.Process.Pid)
	_ = user.Wait()
	wantUnfit(t, s, "a test run was killed")
	second := up(t, s)
	if second == first {
		t.Error("want a new control plane after a killed user, it is the same")
	}

	use, unfit, err = s.Use(t.Context())
	if err != nil || use == nil {
		t.Fatalf("want a control plane to use, got %q, %v", unfit, err)
	}
	keeper, err := lockHolder(s.path(keeperFile))
	if err != nil || keeper == 0 {
		t.Fatalf("want a keeper, got %d, %v", keeper, err)
	}
	kill(t, keeper)
	if err := use.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("want users to hear that the control plane has ended, got %v", err)
	}
	if err := use.Leave(); err != nil {
		t.Error(err)
	}
	wantUnfit(t, s, "it has ended")
	if third := up(t, s); third == second {
		t.Error("want a new control plane after a killed keeper, it is the same")
	}

	ended, err := s.Down(t.Context())
	if err != nil || !ended {
		t.Errorf("end: got %t, %v", ended, err)
	}
	wantUnfit(t, s, "")
	if left, err := filepath.Glob(s.path(stateName)); err != nil || len(left) > 0 {
		t.Errorf("want nothing left of the control plane, got %v, %v", left, err)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// TestStandingFolderIsPrivate: other users can't tell tests which control plane to trust.
func TestStandingFolderIsPrivate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(dir string) error
		want string
	}{
		"open to others": {func(dir string) error { return os.Mkdir(dir, 0o755) }, "others may use it"},
		"a link":         {func(dir string) error { return os.Symlink(os.TempDir(), dir) }, "it is not a folder"},
		"of another user": {func(dir string) error {
			if os.Geteuid() != 0 {
				return os.ErrPermission
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chown(dir, 12345, 12345)
		}, "it belongs to another user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Standing{dir: filepath.Join(t.TempDir(), "up"), options: StandingOptions.withDefaults()}
			if err := test.make(s.dir); os.IsPermission(err) {
				t.Skip("only root can give a folder away")
			} else if err != nil {
				t.Fatal(err)
			}
			_, _, used := s.Use(t.Context())
			_, started := s.Up(t.Context(), "false")
			_, ended := s.Down(t.Context())
			for what, err := range map[string]error{"use": used, "start": started, "end": ended} {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.dir) {
					t.Errorf("%s: want an error that %s: %s, got %v", what, s.dir, test.want, err)
				}
			}
		})
	}
}
