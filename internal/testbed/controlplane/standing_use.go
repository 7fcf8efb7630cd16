package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lookInterval separates two looks of a user at the control plane.
const lookInterval = time.Second

// A Use is a process's use of a Standing. A file stands for it: locked while the process lives,
// and removed by Leave. A file without a lock is of a process that died before it had cleaned up.
type Use struct {
	Access

	file *os.File
}

// Use enters the control plane that runs for this checkout. If that is unfit, it returns why; if
// there is none, nothing.
func (s *Standing) Use(ctx context.Context) (use *Use, unfit string, err error) {
	if err := checkPrivate(s.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "", nil
		}
		return nil, "", err
	}
	done, err := s.turn(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	found, unfit, err := s.inspect(ctx)
	if err != nil || found == nil {
		return nil, unfit, err
	}
	use, err = found.Enter()
	return use, "", err
}

// Enter adds this process to those that use a control plane of Standing's. The caller knows that it
// stays: another process uses it for this one.
func (a Access) Enter() (*Use, error) {
	dir := filepath.Join(a.Standing, usesDir)
	file, err := os.CreateTemp(dir, ".entering-")
	if err != nil {
		return nil, fmt.Errorf("enter the control plane of make up: %w", err)
	}
	use := &Use{Access: a, file: file}
	if locked, err := tryLock(file); err != nil || !locked {
		return nil, errors.Join(fmt.Errorf("enter the control plane of make up: %s is locked", file.Name()), err, use.close())
	}
	if err := a.Save(file.Name()); err != nil {
		return nil, errors.Join(err, use.close())
	}
	if err := os.Rename(file.Name(), use.Path()); err != nil {
		return nil, errors.Join(fmt.Errorf("enter the control plane of make up: %w", err), use.close())
	}
	return use, nil
}

// Path returns the path of a file that LoadAccess reads, which is of this use alone.
func (u *Use) Path() string {
	dir, name := filepath.Split(u.file.Name())
	return filepath.Join(dir, strings.TrimPrefix(name, "."))
}

func (u *Use) close() error { return errors.Join(os.Remove(u.file.Name()), u.file.Close()) }

// Leave ends the use of a process that has cleaned up.
func (u *Use) Leave() error {
	if err := errors.Join(os.Remove(u.Path()), u.file.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("leave the control plane of make up: %w", err)
	}
	return nil
}

// Wait returns when the control plane has ended, or when the context ends, with its cause.
func (u *Use) Wait(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		pid, err := lockHolder(filepath.Join(u.Standing, keeperFile))
		if err != nil {
			return err
		}
		if pid == 0 {
			return fmt.Errorf("the control plane of make up has ended (%s)", filepath.Join(u.Standing, keeperLog))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// uses counts the processes that use the control plane, and those that have died.
func (s *Standing) uses() (live, dead int, err error) {
	entries, err := os.ReadDir(s.path(usesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("find who uses the control plane of make up: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // its process has not used anything yet
		}
		lives, err := isLocked(filepath.Join(s.path(usesDir), entry.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has left
		case err != nil:
			return 0, 0, err
		case lives:
			live++
		default:
			dead++
		}
	}
	return live, dead, nil
}
