package controlplane

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startProgram starts a shell script as a program.
func startProgram(t *testing.T, script string, env ...string) (p *Program, dir string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell")
	}
	dir = t.TempDir()
	p, err = StartProgram(shell, []string{"-c", script}, env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p, dir
}

// wrote wants the program to have written a file.
func wrote(dir, name string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, name))
		return err
	}
}

func TestProgramHasItsEnvironmentAndLog(t *testing.T) {
	t.Parallel()
	p, dir := startProgram(t, `echo "$GREETING"; touch up; exec sleep 600`, "GREETING=hello")
	if err := p.Await(t.Context(), "it to be up", wrote(dir, "up")); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	p.Stop() // does nothing
	if said, err := os.ReadFile(p.Log()); err != nil || string(said) != "hello\n" {
		t.Errorf("its log is %q, %v; want what it was told to say", said, err)
	}
}

func TestProgramIsKilledWithoutAWord(t *testing.T) {
	t.Parallel()
	p, dir := startProgram(t, `trap 'touch asked' INT; touch up; while :; do sleep 0.01; done`)
	if err := p.Await(t.Context(), "it to be up", wrote(dir, "up")); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p.Kill()
	if took := time.Since(begin); took >= killAfter {
		t.Errorf("it was killed after %v: it was asked before", took)
	}
	if wrote(dir, "asked")(t.Context()) == nil {
		t.Error("it was asked to end, want it killed")
	}
}

func TestAwaitOfAProgram(t *testing.T) {
	t.Parallel()
	never := errors.New("not yet")
	p, _ := startProgram(t, "echo no port; exit 3")
	err := p.Await(t.Context(), "it to be up", func(context.Context) error { return never })
	for _, want := range []string{"wait for it to be up", "exit status 3", "no port", "not yet"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of one that ends: want %q in the error, got %v", want, err)
		}
	}
	p, _ = startProgram(t, "exec sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = p.Await(ctx, "it to be up", func(context.Context) error { return never })
	if !errors.Is(err, never) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of one that runs on: got %v, want that the time is up, and why", err)
	}
}
