package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
)

// midway returns a release of ten pods, of which three run the new version.
func midway(t *testing.T) (*show.Sight, Pods) {
	t.Helper()
	replicas := int32(10)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:2"}}},
		}},
	}
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "r"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(3)}, {Replicas: intstr.FromString("100%")},
			}},
		},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, StepStartedAt: &metav1.Time{},
			StableRevision: "aaa", UpdateRevision: "bbb", Replicas: replicas,
			Held: &v1alpha1.HeldWorkload{Strategy: `{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}`},
		},
	}
	kept := func(revision, image string, number int64) appsv1.ControllerRevision {
		return appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.RevisionLabel: revision}, Annotations: map[string]string{
				v1alpha1.CommitAnnotation: strings.Repeat("c", 40), v1alpha1.SubjectAnnotation: "subject of " + revision,
			}},
			Revision: number, Data: runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"web","image":"` + image + `"}]}}`)},
		}
	}
	pods := Pods{Known: true, Wanted: 10, NewAvailable: 2, NewPending: 1, OldAvailable: 7, Versions: []Version{
		{Revision: "bbb", Pods: 3, Available: 2, New: true}, {Revision: "aaa", Pods: 7, Available: 7},
	}}
	return &show.Sight{
		Whole: &show.Whole{Release: release, Workload: deployment, Pods: []corev1.Pod{{}}},
		Kept:  []appsv1.ControllerRevision{kept("aaa", "web:1", 1)},
	}, pods
}

// TestRollbackPreview: which pods are replaced, to what, by which steps, and what becomes of Git.
func TestRollbackPreview(t *testing.T) {
	t.Parallel()
	sight, pods := midway(t)
	sight.Release.Labels = map[string]string{v1alpha1.SourceLabel: "git"}
	sight.Source = &v1alpha1.ReleaseSource{Spec: v1alpha1.ReleaseSourceSpec{Forge: &v1alpha1.Forge{}}}
	sight.Release.Spec.Strategy.Traffic, sight.Release.Status.Traffic = &v1alpha1.Traffic{}, &v1alpha1.TrafficStatus{Weight: 30}
	got := RollbackOf(sight, "aaa", pods)
	diff := got.Diff
	got.Diff = nil
	want := &Rollback{
		From: "bbb", To: "aaa", FromImages: "web:2", ToImages: "web:1", FromName: "2", ToName: "1", Commit: "ccccccc", Subject: "subject of aaa",
		Pods:    []string{"3 pods of revision bbb are replaced (2 available)", "7 pods of revision aaa stay (7 available)"},
		Steps:   []RollbackStep{{Number: 1, Share: "1", Pods: 1}, {Number: 2, Share: "100%", Pods: 10}},
		Traffic: "All requests go back to the previous version first: the new version gets 30% of them now. Pods follow.",
		Git: []string{
			"Revision bbb is quarantined: it is not released again until Git changes.",
			"Sluice opens a pull request that restores the good template in Git. It never merges it.",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	if diff == nil || len(diff.Lines) == 0 || diff.From != "bbb" || diff.To != "aaa" {
		t.Errorf("want a diff from bbb to aaa, got %+v", diff)
	}
}

// TestSimulationBeginsWithThePodsThatThereAre: the first row is the present state, the last the
// future one; the limits come from the workload's own strategy.
func TestSimulationBeginsWithThePodsThatThereAre(t *testing.T) {
	t.Parallel()
	sight, pods := midway(t)
	got := SimulationOf(sight, "aaa", pods)
	if got.Missing != "" || len(got.Rows) < 3 {
		t.Fatalf("want a simulation, got %+v", got)
	}
	if first := got.Rows[0]; first.To != 7 || first.From != 3 || first.Available != 9 || first.After != "before" {
		t.Errorf("want it to begin with 7 and 3 pods, of which 9 are available, got %+v", first)
	}
	if then := got.Rows[1]; then.What != "rollback" {
		t.Errorf("want the rollback next, got %+v", then)
	}
	if last := got.Rows[len(got.Rows)-1]; last.To != 10 || last.From != 0 || last.Available != 10 || last.State != "RolledBack" {
		t.Errorf("want it to end with 10 pods, got %+v", last)
	}
	for _, row := range got.Rows {
		if row.To+row.From > 11 {
			t.Errorf("want at most 11 pods, as the workload says, got %+v", row)
		}
	}
	for name, c := range map[string]struct {
		change func(*show.Sight, *Pods)
		says   string
	}{
		"too many pods": {func(_ *show.Sight, p *Pods) { p.Wanted = mostSimulated + 1 }, "The dashboard simulates up to"},
		"no pods":       {func(_ *show.Sight, p *Pods) { p.Wanted = 0 }, "The workload has no pods."},
		"no new pods":   {func(_ *show.Sight, p *Pods) { p.NewAvailable, p.NewPending = 0, 0 }, "No pod runs the new version yet"},
		"hidden":        {func(s *show.Sight, _ *Pods) { s.Workload = nil }, "You may not see the workload."},
	} {
		sight, pods := midway(t)
		c.change(sight, &pods)
		if got := SimulationOf(sight, "aaa", pods); !strings.Contains(got.Missing, c.says) {
			t.Errorf("%s: want %q, got %q", name, c.says, got.Missing)
		}
	}
}

// TestConfirmSaysWhatWillHappen: in plain words, for what stands in the release.
func TestConfirmSaysWhatWillHappen(t *testing.T) {
	t.Parallel()
	manual := func(onReject v1alpha1.RejectPolicy) []v1alpha1.Gate {
		return []v1alpha1.Gate{{
			ObjectMeta: metav1.ObjectMeta{Name: "web-g", UID: "g"},
			Spec:       v1alpha1.GateSpec{Type: v1alpha1.GateManual, Policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}, OnReject: onReject}},
		}}
	}
	cases := map[string]struct {
		verb   string
		gates  []v1alpha1.Gate
		change func(*v1alpha1.BatchRelease)
		want   []string
	}{
		"approve":                    {"approve", manual(""), nil, []string{"1 manual gate of batch 1 of 2 passes, with your name", "batch 2 of 2 begins: 100%."}},
		"approve while it is paused": {"approve", manual(""), func(r *v1alpha1.BatchRelease) { r.Spec.Suspend = true }, []string{"The release is paused: nothing else happens"}},
		"the last batch":             {"approve", manual(""), func(r *v1alpha1.BatchRelease) { r.Status.CurrentStepIndex = 1 }, []string{"This is the last batch"}},
		"a pause point": {"approve", nil, func(r *v1alpha1.BatchRelease) {
			r.Status.State, r.Status.PausePoint = v1alpha1.StatePausePoint, &v1alpha1.PausePoint{Pod: "web-7"}
		}, []string{"continues past pod web-7"}},
		"reject":                   {"reject", manual(""), nil, []string{"This is final", "No pod is replaced now."}},
		"reject, which rolls back": {"reject", manual(v1alpha1.RejectRollback), nil, []string{"The release rolls back at once"}},
		"a refused write": {"retry", nil, func(r *v1alpha1.BatchRelease) {
			r.Status.RefusedWrite = &v1alpha1.RefusedWrite{Write: "create the ReplicaSet"}
		}, []string{"repeats the write that the API server refuses: create the ReplicaSet."}},
		"jump back": {"jump", nil, func(r *v1alpha1.BatchRelease) { r.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods }, []string{"pods beyond its share go back"}},
	}
	for name, c := range cases {
		sight, _ := midway(t)
		if c.change != nil {
			c.change(sight.Release)
		}
		page := ConfirmOf(verb.Named(c.verb), sight, c.gates, "ada")
		for _, part := range c.want {
			if !strings.Contains(strings.Join(page.What, "\n"), part) {
				t.Errorf("%s: want %q in %q", name, part, page.What)
			}
		}
		if len(page.Gates) != len(c.gates) {
			t.Errorf("%s: want %d gates, got %+v", name, len(c.gates), page.Gates)
		}
	}
}

// TestOnePod: one pod stays, and one is replaced.
func TestOnePod(t *testing.T) {
	t.Parallel()
	pods := Pods{Known: true, Versions: []Version{{Revision: "bbb", Pods: 1}, {Revision: "aaa", Pods: 1, Available: 1}}}
	want := []string{"1 pod of revision bbb is replaced (0 available)", "1 pod of revision aaa stays (1 available)"}
	if diff := cmp.Diff(want, podWords(pods, "aaa")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTemplateOfStatefulSet: the template that a StatefulSet is released with is in the revision
// that its controller keeps, if what is there is one.
func TestTemplateOfStatefulSet(t *testing.T) {
	t.Parallel()
	record := func(name, data string) appsv1.ControllerRevision {
		r := appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}}
		r.Name = name
		return r
	}
	revisions := []appsv1.ControllerRevision{
		record("web-aaa", `{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"image":"web:1"}]}}}}`),
		record("web-bbb", `{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"image":"web:2"}]}}}}`),
		record("web-ccc", `["not a template"]`), record("web-ddd", ""),
	}
	for name, want := range map[string]string{"web-aaa": "web:1", "web-bbb": "web:2", "web-ccc": "", "web-ddd": "", "web-eee": ""} {
		got := ""
		if template := recorded(revisions, name); template != nil {
			got = template.Spec.Containers[0].Image
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
