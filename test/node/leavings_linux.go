package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dirEnv names the state folder to what is inside.
const dirEnv = "SLUICE_NODE_DIR"

// namePrefix is that of the names of state folders and cgroups. The id of the process that they
// belong to follows.
const namePrefix = "sluice-node-"

// sweepPatience is how long the kernel may take to empty cgroups whose processes were killed.
const sweepPatience = 10 * time.Second

// Dir returns a folder of the state folder, inside. It is removed with the state folder.
func Dir(name string) string { return filepath.Join(os.Getenv(dirEnv), name) }

func nameOf(pid int) string { return namePrefix + strconv.Itoa(pid) }

func stateDir(pid int) string { return filepath.Join(os.TempDir(), nameOf(pid)) }

// leavings are the resources that outlive the namespaces of a process.
type leavings struct{ pid int }

func newLeavings(pid int) leavings { return leavings{pid} }

// make makes the state folder and the cgroups, which kubelet wants to find.
func (l leavings) make() error {
	if err := os.Mkdir(stateDir(l.pid), 0o755); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	for _, hierarchy := range hierarchies() {
		if err := os.Mkdir(filepath.Join(hierarchy, nameOf(l.pid)), 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		for number := 1; number <= nodes; number++ {
			if err := os.Mkdir(filepath.Join(hierarchy, nameOf(l.pid), nodeName(number)), 0o755); err != nil {
				return fmt.Errorf("make cgroup of a node: %w", err)
			}
		}
	}
	return nil
}

// sweep removes what is left, once the processes are gone.
func (l leavings) sweep() error {
	if err := os.RemoveAll(stateDir(l.pid)); err != nil {
		return fmt.Errorf("remove state folder: %w", err)
	}
	for _, hierarchy := range hierarchies() {
		if err := removeCgroup(filepath.Join(hierarchy, nameOf(l.pid))); err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}
	}
	return nil
}

// sweepDead sweeps after all processes that have ended without doing so. One of them may have had
// the id of this one.
func sweepDead() error {
	places := append(hierarchies(), os.TempDir())
	dead := map[int]bool{}
	for _, place := range places {
		found, err := filepath.Glob(filepath.Join(place, namePrefix+"*"))
		if err != nil {
			return fmt.Errorf("find what is left of earlier runs: %w", err)
		}
		for _, path := range found {
			pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), namePrefix))
			if err == nil && (pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)) {
				dead[pid] = true
			}
		}
	}
	for pid := range dead {
		if err := newLeavings(pid).sweep(); err != nil {
			return err
		}
	}
	return nil
}

// hierarchies returns the roots of all trees of cgroups: one with cgroup v2, one a controller with
// v1.
func hierarchies() []string {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	entries, _ := os.ReadDir(root)
	var found []string
	for _, entry := range entries {
		if entry.IsDir() { // others are links to these
			found = append(found, filepath.Join(root, entry.Name()))
		}
	}
	return found
}

// removeCgroup removes a cgroup and all below it, if it is there.
func removeCgroup(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepPatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := removeFolders(path)
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// removeFolders removes folders from the leaves up. The files of a cgroup go with its folder.
func removeFolders(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := removeFolders(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return syscall.Rmdir(path)
}
