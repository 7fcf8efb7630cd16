package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

func queueing(o *Observation) { o.Release.Spec.Strategy.Supersede = v1alpha1.SupersedeQueue }

func TestQueuedTemplateWaitsItsTurn(t *testing.T) {
	t.Parallel()
	grown := func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(queueing) }
	phase := func(phase v1alpha1.Phase, reason string) func(*v1alpha1.BatchReleaseStatus) {
		return func(s *v1alpha1.BatchReleaseStatus) { s.Phase, s.Reason = phase, reason }
	}
	tests := map[string]struct {
		scene *scene
		waits string
		runs  string
	}{
		"a release that has begun is finished first":   {grown(), "v3", "v2"},
		"without the policy it is not":                 {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3"), "", "v3"},
		"only the newest waits":                        {grown().resolved("v4").status(waits("v3")), "v4", "v2"},
		"the template that runs clears the queue":      {grown().resolved("v2").status(waits("v3")), "", "v2"},
		"a revert does not wait":                       {grown().resolved("v1"), "", "v1"},
		"a revert of what waits clears the queue":      {grown().resolved("v2").status(waits("v3")), "", "v2"},
		"a rollback goes at once":                      {grown().annotated(v1alpha1.RollbackAnnotation, "true"), "", "v1"},
		"what waits is not what is rolled back":        {grown().status(waits("v3")).annotated(v1alpha1.RollbackAnnotation, "true"), "v3", "v1"},
		"it waits for a rollback that has not begun":   {rollingBack(10).status(notEntered).resolved("v3").but(queueing), "v3", "v1"},
		"without the policy it is rolled back, too":    {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").status(waits("v3")).annotated(v1alpha1.RollbackAnnotation, "true"), "", "v1"},
		"a rollback under way is finished first":       {rollingBack(10).resolved("v3").but(queueing), "v3", "v1"},
		"a failed release does not hold up the next":   {grown().status(phase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded)), "", "v3"},
		"nor does one that was rejected":               {grown().status(rejectedBefore("web-v2-1-1-0")), "", "v3"},
		"nor does one whose rejection is not recorded": {grown().status(blocked(v1alpha1.StepBlocking, "web-v2-1-1-0")).gates(gate(1, 1, 0, rejected)), "", "v3"},
		"nor one that has not begun":                   {held(10).sets(set("v1", 10)).status(noBatch).resolved("v3").but(queueing), "", "v3"},
		"one that is taken over already has begun":     {grown().but(func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v3", "v3" }), "", "v3"},
		"one whose predecessor is lost does not wait":  {held(10).at(1, 5).sets(set("v1", 10)).resolved("v3").but(queueing).but(func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v9", "v9" }), "", "v3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := next(t, test.scene).Status
			got := ""
			if status.Queued != nil {
				got = status.Queued.Revision
			}
			if got != test.waits || status.UpdateRevision != test.runs {
				t.Errorf("revision %q waits and %q is released, want %q and %q", got, status.UpdateRevision, test.waits, test.runs)
			}
			if said := strings.HasSuffix(status.Message, "; next: revision "+test.waits); said != (test.waits != "") {
				t.Errorf("the message is %q", status.Message)
			}
		})
	}
}

func TestEndIsRecordedBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	p := next(t, completed(10).but(queueing).status(waits("v2")))
	if !p.StatusFirst || p.Status.Phase != v1alpha1.PhaseCompleted || p.Status.Queued != nil {
		t.Errorf("the status that is written first is %s, queued %+v", standing(&p.Status), p.Status.Queued)
	}
}

// TestEndIsKeptInMind: who tells of a release may see the next one first.
func TestEndIsKeptInMind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  []v1alpha1.EndedRelease
	}{
		"of a release": {
			completed(10).resolved("v2").status(func(s *v1alpha1.BatchReleaseStatus) { s.Commit = "c0de" }),
			[]v1alpha1.EndedRelease{{Commit: "c0de", Revision: "v1", Replicas: 10}},
		},
		"of as many as there is room for": {
			completed(10).resolved("v2").status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Commit, s.Ended = "f", []v1alpha1.EndedRelease{{Commit: "a"}, {Commit: "b"}, {Commit: "c"}, {Commit: "d"}, {Commit: "e"}}
			}),
			[]v1alpha1.EndedRelease{{Commit: "b"}, {Commit: "c"}, {Commit: "d"}, {Commit: "e"}, {Commit: "f", Revision: "v1", Replicas: 10}},
		},
		"of one that was superseded there is none": {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, next(t, test.scene).Status.Ended); diff != "" {
				t.Errorf("the end on record (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSupersededCommitsAreKeptInMind: a client that waits for a superseded commit learns that it
// has no end, however late it asks.
func TestSupersededCommitsAreKeptInMind(t *testing.T) {
	t.Parallel()
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("%07d", i)
	}
	before := func(commit string, superseded ...string) func(*v1alpha1.BatchReleaseStatus) {
		return func(s *v1alpha1.BatchReleaseStatus) { s.Commit, s.Superseded = commit, superseded }
	}
	rolling := func() *scene {
		return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(from("c3", "Cid", "Three"))
	}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"one in its middle":        {rolling().status(before("c2")), []string{"c2"}},
		"after others":             {rolling().status(before("c2", "c0", "c1")), []string{"c0", "c1", "c2"}},
		"as many as there is room": {rolling().status(before("c2", many...)), append(slices.Clone(many[1:]), "c2")},
		"none that has ended":      {completed(10).resolved("v2").status(before("c2")).but(from("c3", "Cid", "Three")), nil},
		"none of the same commit":  {rolling().status(before("c3")), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, next(t, test.scene).Status.Superseded); diff != "" {
				t.Errorf("superseded commits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLossIsReadLive: a cached workload in an unexpected state does not let a template overtake
// another before a live read.
func TestLossIsReadLive(t *testing.T) {
	t.Parallel()
	s := held(10).at(1, 5).sets(set("v1", 10)).resolved("v3").but(queueing).cached()
	s.Workload.Digest, s.Workload.Revision = "digest-v9", "v9"
	if got := script(next(t, s)); len(got) != 1 || got[0] != "needs workload, counts" {
		t.Errorf("plan is %q, want live reads", got)
	}
}

// TestRevertIsProvenLive: a revert goes past gates and whatever waits, which must not rest on what
// a cache says was stable.
func TestRevertIsProvenLive(t *testing.T) {
	t.Parallel()
	unseen := func(o *Observation) { o.Live &^= ReadKept }
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"a template that is kept as stable":   {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v1"), true},
		"one that is not is a release anyway": {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3"), false},
		"a rollback that is asked for":        {held(10).annotated(v1alpha1.RollbackAnnotation, "true"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene.but(unseen))
			if p.Needs.Has(ReadKept) != test.want || test.want && p.Status.UpdateRevision != "v2" {
				t.Errorf("needs %q and releases %s; want what is kept to be read: %t", script(p), p.Status.UpdateRevision, test.want)
			}
		})
	}
}

// inPlaces makes the workload a StatefulSet, of whose pods so many, the highest, are rolled back to
// v1.
func inPlaces(back int32) func(*Observation) {
	return func(o *Observation) {
		m := statefulset.Mover{
			RollingUpdate: true, Partition: inplace.Held, Window: inplace.Held, Current: "v2",
			Workload: inplace.Workload{Observed: true, Replicas: 10, Digest: "digest-v1", Update: "v1", Listed: true, Live: true},
		}
		for i := range int32(10) {
			pod := inplace.Pod{Name: fmt.Sprintf("web-%d", i), Index: i, Revision: "v2", Ready: true, Available: true}
			if i >= 10-back {
				pod.Revision = "v1"
			}
			m.Pods = append(m.Pods, pod)
		}
		o.Release.Spec.WorkloadRef.Kind, o.Workload.Mover = "StatefulSet", m
	}
}

// TestAFixWaitsForTheRollbackOfAStatefulSet: pods of a StatefulSet go by their places, and lost
// ones come back in what all ran: a fix would take the good ones, and keep the bad ones alive.
func TestAFixWaitsForTheRollbackOfAStatefulSet(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }
	fix := func() *scene { return rollingBack(10).resolved("v3") }
	for name, test := range map[string]struct {
		scene *scene
		waits string
		runs  string
	}{
		"it waits":                                   {fix().but(inPlaces(4)), "v3", "v1"},
		"it does not before a release":               {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(inPlaces(0)), "", "v3"},
		"of a Deployment it does not":                {fix(), "", "v3"},
		"a rollback that has failed holds nobody up": {fix().but(inPlaces(4)).status(failed), "", "v3"},
		"nor does one that was rejected":             {fix().but(inPlaces(4)).status(rejectedBefore("web-v2-1-1-0")), "", "v3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, got := next(t, test.scene).Status, ""
			if status.Queued != nil {
				got = status.Queued.Revision
			}
			if got != test.waits || status.UpdateRevision != test.runs {
				t.Errorf("revision %q waits and %q is released, want %q and %q", got, status.UpdateRevision, test.waits, test.runs)
			}
		})
	}
}
