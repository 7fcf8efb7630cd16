//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// makePrivate makes a folder that is of this user alone.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder: %w", err)
	}
	return checkPrivate(dir)
}

// checkPrivate returns an error unless dir is a folder that this user alone can read and write: its
// files tell tests which control plane to trust.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	var problem string
	switch {
	case !info.IsDir():
		problem = "it is not a folder"
	case !ok || int(stat.Uid) != os.Geteuid():
		problem = "it belongs to another user"
	case info.Mode().Perm()&0o077 != 0:
		problem = fmt.Sprintf("others may use it (%v)", info.Mode().Perm())
	default:
		return nil
	}
	return fmt.Errorf("use %s: %s; remove it, or name another folder by %s", dir, problem, CacheDirEnv)
}

// holdLock takes the lock that the file at path stands for; it ends with this process, and
// lockHolder finds its holder. This process must not open the file again: to close it gives the
// lock back.
func holdLock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: another process has it: %w", path, err), f.Close())
	}
	return f, nil
}

// lockHolder returns the id of the process that holds the lock of holdLock, 0 for none.
func lockHolder(path string) (pid int, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open lock: %w", err)
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		return 0, fmt.Errorf("look at lock %s: %w", path, err)
	}
	switch {
	case lock.Type == syscall.F_UNLCK:
		return 0, nil
	case lock.Pid <= 0:
		return 0, fmt.Errorf("look at lock %s: a process of another machine or container has it", path)
	}
	return int(lock.Pid), nil
}

// tryLock takes the lock of an open file, unless another process has it.
func tryLock(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// isLocked reports whether a process has the lock of the file at path.
func isLocked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	defer f.Close()
	free, err := tryLock(f)
	return !free, err
}
