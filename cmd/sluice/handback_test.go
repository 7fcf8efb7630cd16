package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// TestHandbackBesideController: while a controller runs the command refuses, unless it is forced.
func TestHandbackBesideController(t *testing.T) {
	t.Parallel()
	access, namespace := cptest.Access(t), cptest.Namespace(t)
	c := cptest.Client(t)
	err := c.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.LeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(time.Now())),
		},
	})
	if err != nil {
		t.Fatalf("create Lease: %v", err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"handback", "--all", "--yes", "--kubeconfig=" + access.Kubeconfig, "--namespace=" + namespace}
	if code := run(t.Context(), args, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), "a controller runs") {
		t.Errorf("want exit code %d and to be told of the controller, got %d: %s", exitError, code, stderr.String())
	}
	if code := run(t.Context(), append(args, "--force"), &stdout, &stderr); code != exitOK {
		t.Errorf("want exit code %d when forced, got %d: %s", exitOK, code, stderr.String())
	}
	if want := "nothing to do: no workload is held\n"; stdout.String() != want {
		t.Errorf("want %q, got %q", want, stdout.String())
	}
	missing := []string{"handback", "web", "--force", "--yes", "--kubeconfig=" + access.Kubeconfig, "-n", namespace}
	if code := run(t.Context(), missing, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), `no Deployment, StatefulSet or DaemonSet "web" found`) {
		t.Errorf("want exit code %d for a workload that is not there, got %d: %s", exitError, code, stderr.String())
	}
}

// TestHandbackAsks: nothing is changed without a yes, and where no terminal is, without --yes; nor
// where nothing says that no controller runs.
func TestHandbackAsks(t *testing.T) {
	t.Parallel()
	for answer, goes := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yellow\n": false} {
		var out bytes.Buffer
		if err := ask(strings.NewReader(answer), &out, "Hand back web?"); (err == nil) != goes || out.String() != "Hand back web? [y/N] " {
			t.Errorf("answer %q: want to go on: %t, got %v after %q", answer, goes, err, out.String())
		}
	}
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig, client: cptest.Client(t)}
	if said := s.as("", "handback", "web", "--force"); said.code != exitUsage || !strings.Contains(said.stderr, "pass --yes") {
		t.Errorf("want exit code %d without a terminal to ask on, got %+v", exitUsage, said)
	}
	flags := &handbackFlags{}
	none := noLeases{}
	if err := flags.checkController(t.Context(), none); err == nil || !strings.Contains(err.Error(), "pass --force") {
		t.Errorf("want a cluster without a Lease to ask for --force, got %v", err)
	}
	flags.force = true
	if err := flags.checkController(t.Context(), none); err != nil {
		t.Errorf("want --force to do, got %v", err)
	}
}

// TestHandbackOfEachKind: a name means the held workloads of all kinds, each gets its strategy
// back, and the stable template that only the native controller has kept. That of a StatefulSet
// whose window was open is none but that.
func TestHandbackOfEachKind(t *testing.T) {
	t.Parallel()
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig, client: cptest.Client(t)}
	set, daemon := s.statefulSet("db", 3), s.daemonSet("db")
	stable, daemonStable := set.Revision(set.Status.CurrentRevision), s.revisionOf(daemon)
	s.hold(set, stable, 2)
	s.hold(daemon, daemonStable, 0)
	s.awaitImages(set, map[string]int{"db:1": 2, "db:2": 1})

	if said := s.as("", "handback", "deployment/db", "--force", "--yes"); said.code != exitError {
		t.Errorf("want exit code %d for a Deployment that is not there, got %+v", exitError, said)
	}
	if said := s.as("", "handback", "pod/db", "--force", "--yes"); said.code != exitUsage {
		t.Errorf("want exit code %d for what is no workload, got %+v", exitUsage, said)
	}
	want := fmt.Sprintf("StatefulSet %[1]s/db: handed back: update strategy RollingUpdate, back to the stable revision %[2]s\n"+
		"DaemonSet %[1]s/db: handed back: update strategy RollingUpdate, back to the stable revision %[3]s\n", s.namespace, stable, daemonStable)
	if said := s.as("", "handback", "db", "--force", "--yes"); said.stdout != want || said.code != exitOK {
		t.Errorf("want to be told\n%sgot %+v", want, said)
	}
	for _, before := range []workload.Workload{set, daemon} {
		now := workload.New(before.Kind())
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(before.Object()), now.Object()); err != nil {
			t.Fatalf("read %s: %v", before.Kind(), err)
		}
		if hold.Text(now) != nil || now.Own() != before.Own() {
			t.Errorf("want %s to have its strategy %v back, it has %v and annotations %v", now.Kind(), before.Own(), now.Own(), now.GetAnnotations())
		}
	}
	s.awaitImages(set, map[string]int{"db:1": 3})
	s.awaitImages(daemon, map[string]int{"db:1": 2})
	want = fmt.Sprintf("StatefulSet %s/db: nothing to do: it is not held\n", s.namespace)
	if said := s.as("", "handback", "sts/db", "--force", "--yes"); said.stdout != want || said.code != exitOK {
		t.Errorf("want a second run to say %q, got %+v", want, said)
	}
}

// noLeases is a cluster without a Lease.
type noLeases struct{ client.Reader }

func (noLeases) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// hold takes a workload to version 2 as the controller does, with the annotation that it would
// have; that of a StatefulSet with a window from a partition on.
func (s *shop) hold(w workload.Workload, stable string, window int32) {
	s.Helper()
	held := plan.Hold{Release: "db", UID: "gone", Stable: stable, HeldWorkload: w.Own()}
	template := w.PodTemplate().DeepCopy()
	template.Spec.Containers[0].Image = "db:2"
	raw, err := json.Marshal(template)
	if err != nil {
		s.Fatalf("encode template: %v", err)
	}
	patch := new(jsonpatch.Patch).Set("/spec/template", json.RawMessage(raw))
	if window > 0 {
		held.Window = fmt.Sprint(window)
		statefulset.SetPartition(patch, window, 0)
	} else {
		w.Secure(patch)
	}
	change, err := kube.PatchOf(hold.Set(patch, w, held))
	if err != nil {
		s.Fatalf("make patch: %v", err)
	}
	now := workload.New(w.Kind())
	now.SetNamespace(s.namespace)
	now.SetName(w.GetName())
	if err := s.client.Patch(s.Context(), now.Object(), change); err != nil {
		s.Fatalf("hold %s: %v", w.Kind(), err)
	}
	cptest.Eventually(s.T, soon, func() error {
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(w.Object()), now.Object())
		if err == nil && now.Seen() < now.GetGeneration() {
			err = fmt.Errorf("want the native controller to have seen %s %s", w.Kind(), w.GetName())
		}
		return err
	})
}
