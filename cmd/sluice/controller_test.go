package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	cptest.Main(m)
}

// TestNoServer: a server that does not answer is an error, and no usage error.
func TestNoServer(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	args := []string{"controller", "--kubeconfig=" + writeNowhere(t), "--metrics-address=0", "--probe-address=0"}
	if code := run(t.Context(), args, &stdout, &stderr); code != exitError {
		t.Errorf("want exit code %d, got %d", exitError, code)
	}
	if !strings.Contains(stderr.String(), "sluice: set up controller: ") {
		t.Errorf("want to be told what failed, got %q", stderr.String())
	}
}

// TestController: the binary runs on a kubeconfig until it is asked to stop, logs JSON, and
// gives its Lease back.
func TestController(t *testing.T) {
	t.Parallel()
	access, namespace := cptest.Access(t), cptest.Namespace(t)
	c := cptest.Client(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log")) // libraries may log a line after the end
	if err != nil {
		t.Fatalf("create log: %v", err)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{
			"controller", "--kubeconfig=" + access.Kubeconfig, "--namespaces=" + namespace,
			"--leader-elect-namespace=" + namespace, "--metrics-address=0", "--probe-address=0",
		}, io.Discard, log)
	}()
	// The Lease is there before the answer to its creation is: a process that is asked to stop in
	// between does not know of it.
	cptest.Eventually(t, time.Minute, func() error {
		logged, err := os.ReadFile(log.Name())
		if !bytes.Contains(logged, []byte(`"msg":"Starting workers"`)) {
			return errors.Join(errors.New("want workers started"), err)
		}
		return nil
	})
	if err := leaseHeld(t, c, namespace, true); err != nil {
		t.Error(err)
	}

	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("want exit code %d when told to stop, got %d", exitOK, got)
	}
	if err := leaseHeld(t, c, namespace, false); err != nil {
		t.Error(err)
	}
	logged, err := os.ReadFile(log.Name())
	if first, _, _ := bytes.Cut(logged, []byte("\n")); err != nil || !bytes.Contains(first, []byte(`"msg":"starting"`)) {
		t.Errorf("want the first line of the log to say what is started, got %q, %v", first, err)
	}
}

// leaseHeld says so if the Lease is not as wanted.
func leaseHeld(t *testing.T, c client.Client, namespace string, want bool) error {
	t.Helper()
	var lease coordinationv1.Lease
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sluice-controller"}, &lease); err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	if held := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""; held != want {
		return fmt.Errorf("want lease held %t, got %t", want, held)
	}
	return nil
}
