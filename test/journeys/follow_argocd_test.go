package journeys

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// argoBinary builds the program that applies by Argo CD's engine, which needs a newer Go.
var argoBinary = sync.OnceValues(func() (string, error) {
	module, err := controlplane.InCheckout("hack/argocd")
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(context.Background(), "go", "-C", module, "tool", "-n", "argocd")
	build.Env = append(build.Environ(), "GOTOOLCHAIN=auto", "CGO_ENABLED=0")
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
})

// argoCD is Argo CD's engine, which applies a manifest when it is asked to.
type argoCD struct {
	tool

	file  string
	asks  io.Writer
	tells *bufio.Scanner
}

// synced says how one sync went.
type synced struct {
	Client, Server *argoDiff
	Results        []string
	Error          string
}

type argoDiff struct{ Live, Predicted map[string]any }

// shown returns the paths of the fields that differ; nil if Argo CD shows no difference.
func (d *argoDiff) shown() []string {
	if d == nil {
		return nil
	}
	paths := append(differences("", d.Predicted, d.Live), differences("", d.Live, d.Predicted)...)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// startArgoCD runs the engine for the namespace of a journey.
func (h tool) startArgoCD(serverSide bool) argoCD {
	h.Helper()
	binary, err := argoBinary()
	if err != nil {
		h.Fatal(err)
	}
	file := filepath.Join(h.TempDir(), "web.yaml")
	engine := exec.CommandContext(context.WithoutCancel(h.Context()), binary, "-kubeconfig", h.access.Kubeconfig, "-namespace", h.namespace,
		"-file", file, fmt.Sprintf("-server-side=%t", serverSide))
	log := &strings.Builder{}
	engine.Stderr = log
	asks, err := engine.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	tells, err := engine.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		h.Fatalf("start Argo CD's engine: %v", err)
	}
	h.Cleanup(func() {
		_ = asks.Close() // then it ends
		if err := engine.Wait(); err != nil || h.Failed() {
			h.Logf("Argo CD's engine: %v\n%s", err, log)
		}
	})
	lines := bufio.NewScanner(tells)
	lines.Buffer(nil, 1<<20)
	return argoCD{h, file, asks, lines}
}

// push changes the image in the manifest, and syncs it.
func (a argoCD) push(image string) {
	a.Helper()
	if err := os.WriteFile(a.file, encode(a.manifest(image).Object), 0o600); err != nil {
		a.Fatal(err)
	}
	a.syncs()
}

// syncs applies the manifest once, and returns how that went.
func (a argoCD) syncs() synced {
	a.Helper()
	if _, err := fmt.Fprintln(a.asks, "main"); err != nil {
		a.Fatal(err)
	}
	if !a.tells.Scan() {
		a.Fatalf("Argo CD's engine has ended: %v", a.tells.Err())
	}
	var s synced
	if err := json.Unmarshal(a.tells.Bytes(), &s); err != nil {
		a.Fatalf("read %s: %v", a.tells.Text(), err)
	}
	if s.Error != "" || len(s.Results) != 1 {
		a.Fatalf("want one object synced, have %v: %s", s.Results, s.Error)
	}
	return s
}

// selfHeals syncs n times, which changes no pod. It wants Argo CD's diff to show the manifest's
// strategy if Sluice has set another one, and nothing else; its server-side diff shows nothing.
func (a argoCD) selfHeals(n int, strategy bool) {
	a.Helper()
	pods := a.now().uids()
	for range n {
		s := a.syncs()
		shown, field := s.Client.shown(), "/spec/updateStrategy"
		if a.kind == "Deployment" {
			field = "/spec/strategy"
		}
		other := func(path string) bool { return !strings.HasPrefix(path, field) }
		if (len(shown) > 0) != strategy || slices.ContainsFunc(shown, other) {
			a.Errorf("%s: want differences below %s: %t, have %v", a.kind, field, strategy, shown)
		}
		if shown := s.Server.shown(); shown != nil {
			a.Errorf("%s: server-side diff: want none, have %v", a.kind, shown)
		}
	}
	a.wantSamePods(pods)
}

// TestFollowArgoCD: Argo CD's own engine applies new revisions of a workload, and applies them
// again, by client-side and by server-side apply. Each is held until its release moves the pods.
func TestFollowArgoCD(t *testing.T) {
	forNight(t)
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		for _, serverSide := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/server-side=%t", kind, serverSide), func(t *testing.T) {
				w := newFollowingWorld(t)
				if kind == "DaemonSet" {
					w.ownNodes(4)
				}
				w.startController()
				a := tool{w, kind, w.charts()[kind]}.startArgoCD(serverSide)
				a.push("web:1")
				w.await(web.serves("web:1", 4))
				w.create(following(releaseTo(kind, podTemplate("", nil), step(1), step("100%", none()))))
				w.await(all(web.completed, labelled))
				a.journey()
			})
		}
	}
}

func (a argoCD) journey() {
	a.push("web:2")
	atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}))
	a.await(atGate)
	a.selfHeals(3, true)
	a.await(atGate)
	a.push("web:3")
	a.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
	a.confirm("web")
	a.await(all(web.completed, web.serves("web:3", 4), a.asInChart("web:3")))
	a.selfHeals(3, false)
	a.goesBack(a.push)
	pods := a.now().uids()
	a.syncs()
	switch a.kind {
	case "DaemonSet": // each sync writes web:5, and Sluice takes it back: lost pods would have it
		a.syncs()
		a.syncs()
	default:
		a.selfHeals(3, a.kind == "StatefulSet")
	}
	a.await(all(web.quarantined, web.serves("web:3", 4)))
	a.wantSamePods(pods)
}
