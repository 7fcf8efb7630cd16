package controlplane

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
