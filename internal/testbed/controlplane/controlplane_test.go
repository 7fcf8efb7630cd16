package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// start starts a control plane that is the test's own.
func start(t *testing.T, options controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	begin := time.Now()
	cp, err := controlplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(begin))
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

func TestStopLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cp := start(t, controlplane.Options{})
	processes := cp.Processes()
	if len(processes) != 5 {
		t.Errorf("processes = %v, want the five components", processes)
	}
	begin := time.Now()
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v", time.Since(begin))
	for name, pid := range processes {
		if err := ended(pid); err != nil {
			t.Errorf("%s after Stop: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("Stop left %v", left)
	}
	if err := cp.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestKilledParentLeavesNoProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux ends children with their parent")
	}
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+t.TempDir())
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var processes map[string]int
	if err := json.NewDecoder(stdout).Decode(&processes); err != nil {
		t.Fatal(err)
	}
	for name, pid := range processes {
		if ended(pid) == nil {
			t.Errorf("%s has ended before its parent", name)
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	cptest.Eventually(t, time.Minute, func() error {
		for name, pid := range processes {
			if err := ended(pid); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// ended returns nil if no process has that id, or only one that nobody has asked for its exit code.
func ended(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		// pid (name) state ...
		_, rest, _ := strings.Cut(string(stat), ") ")
		if rest[0] == 'Z' || rest[0] == 'X' {
			return nil
		}
		return fmt.Errorf("process %d is in state %c", pid, rest[0])
	}
	if process, err := os.FindProcess(pid); err == nil && process.Signal(syscall.Signal(0)) == nil {
		return fmt.Errorf("process %d runs", pid)
	}
	return nil
}

func TestStartSaysWhyNot(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		options controlplane.Options
		want    []string
	}{
		"component refuses its arguments": {
			options: controlplane.Options{ExtraArgs: map[string][]string{"kube-apiserver": {"--no-such-flag"}}},
			want:    []string{"kube-apiserver ended: exit status 1", "unknown flag: --no-such-flag"},
		},
		"state folder is not empty": {
			options: controlplane.Options{Dir: full},
			want:    []string{full, "not empty"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cp, err := controlplane.Start(t.Context(), tc.options)
			if err == nil {
				t.Fatal("started", cp.Stop())
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// TestOptions: one control plane serves this test's parts, which ask for what only a control plane
// of its own shows.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	cp := start(t, controlplane.Options{
		Dir:        dir,
		Nodes:      4,
		ReadyDelay: 2 * time.Second,
		Audit:      true,
		ExtraArgs:  map[string][]string{"kube-apiserver": {"--audit-log-maxsize=1"}},
	})
	cfg, err := cp.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("nodes are spread over zones", func(t *testing.T) {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: corev1.LabelTopologyZone + "=zone-a"})
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes.Items) != 2 {
			t.Errorf("%d nodes in zone-a, want 2 of 4 in three zones", len(nodes.Items))
		}
	})
	t.Run("pods are ready after the delay", func(t *testing.T) {
		pod := createPod(t, client, metav1.NamespaceDefault, nil)
		var took time.Duration
		cptest.Eventually(t, time.Minute, func() error {
			got, err := client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !podReady(got) {
				return fmt.Errorf("%s is not ready", got.Name)
			}
			took = condition(got, corev1.PodReady).LastTransitionTime.Sub(condition(got, corev1.PodScheduled).LastTransitionTime.Time)
			return nil
		})
		// Both times are cut to a second, by which a delay of whole seconds never looks shorter.
		if took < 2*time.Second || took > within { // the machine may be slow
			t.Errorf("ready %v after it was scheduled, want 2s", took)
		}
	})
	t.Run("requests are counted across rotated logs", func(t *testing.T) {
		const requests = 2000
		agent := strings.ReplaceAll(t.Name(), "/", "-")
		counting := *cfg
		counting.UserAgent = agent
		client := kubernetes.NewForConfigOrDie(&counting)
		for range requests {
			if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if rotated, _ := filepath.Glob(filepath.Join(dir, "audit", "audit-*.log")); len(rotated) == 0 {
			t.Error("the log was not rotated")
		}
		cptest.Eventually(t, time.Minute, func() error {
			counts, err := cp.CountRequests(func(r controlplane.Request) bool { return r.UserAgent == agent })
			if err != nil {
				return err
			}
			if len(counts) != 1 || counts["get"] != requests {
				return fmt.Errorf("counted %v, want %d gets and nothing else", counts, requests)
			}
			return nil
		})
	})
	t.Run("Wait tells which component ended", func(t *testing.T) {
		if err := syscall.Kill(cp.Processes()["kube-scheduler"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := cp.Wait(ctx)
		if err == nil || !strings.Contains(err.Error(), "kube-scheduler ended: signal: killed") {
			t.Errorf("Wait = %v, want it to name kube-scheduler", err)
		}
	})
	t.Run("Stop leaves a folder that was given", func(t *testing.T) {
		if err := cp.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "logs", "etcd.log")); err != nil {
			t.Error(err)
		}
	})
}
