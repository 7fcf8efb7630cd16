package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestGet: a release at a gate with all that belongs to it; followed by a viewer while it goes on,
// a line for each change.
func TestGet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.push("web", 2, secondCommit)
	release := s.awaitGate("web")
	s.awaitPods(4)

	// The native controller counts by and by.
	got := s.awaitOutput(viewer, []string{"get"}, "◷ batchrelease/web  Waiting: batch 1/2 done", "commit 2222222 ", "web: version 2, by Ada", "deployment/web ",
		"└─ ◷ gate/"+release.Status.Gates[0].Name+"  manual: waits", "approval by a person", "new, web:2: 1 of 1 pod available",
		"stable, web:1: 3 of 3 pods available", "ready, on node-")
	if strings.Contains(got, "\x1b") {
		t.Errorf("want no colours without a terminal, got %q", got)
	}
	var list metav1.List
	if err := json.Unmarshal([]byte(s.ok(viewer, "get", "web", "-o", "json")), &list); err != nil || len(list.Items) != 9 {
		t.Errorf("want release, Deployment, two ReplicaSets, four pods and a Gate, got %d, %v", len(list.Items), err)
	}

	said, stop := s.start(viewer, "get", "web", "--watch")
	said.await(s, "gate/"+release.Status.Gates[0].Name+": manual: waits")
	s.confirm("web")
	said.await(s, " ✔ batchrelease/web: Completed")
	if code := stop(); code != exitOK {
		t.Errorf("want exit code %d when the user has seen enough, got %d", exitOK, code)
	}
}

// awaitPods waits until those pods are gone that are to go.
func (s *shop) awaitPods(want int) {
	s.Helper()
	cptest.Eventually(s.T, soon, func() error {
		var pods corev1.PodList
		if err := s.client.List(s.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		if len(pods.Items) != want {
			return fmt.Errorf("want %d pods, got %d", want, len(pods.Items))
		}
		return nil
	})
}

// output collects the output of a running call.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(s *shop, part string) {
	s.Helper()
	cptest.Eventually(s.T, soon, func() error {
		if got := o.String(); !strings.Contains(got, part) {
			return fmt.Errorf("want %q in:\n%s", part, got)
		}
		return nil
	})
}

// start calls sluice and lets it run until stop, which returns the exit code. Errors are part of
// what it says.
func (s *shop) start(user string, args ...string) (said *output, stop func() int) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	said, code := &output{}, make(chan int, 1)
	go func() { code <- run(ctx, append(args, s.flags(user)...), said, said) }()
	return said, func() int {
		cancel()
		return <-code
	}
}
