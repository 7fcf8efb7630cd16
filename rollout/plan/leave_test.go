package plan

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// What the annotation says the workload goes back to, for when the release is gone.
func TestTheHoldNamesWhatIsGoneBackTo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"a release that nobody has approved in full goes back": {running(10), "v1"},
		"one that is to go on does not": {
			running(10).but(func(o *Observation) { o.Release.Spec.DeletionPolicy = v1alpha1.DeletionProceed }), "",
		},
		"nor does a rollback": {
			rollingBack(10).but(func(o *Observation) {
				o.Workload.Digest, o.Workload.Revision = "digest-v2", "v2"
				o.Resolved = &Resolved{v1alpha1.ResolvedTemplate{Digest: "digest-v1", Revision: "v1"}, ""}
			}), "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := takeOverOf(t, next(t, test.scene)).Hold.Stable; got != test.want {
				t.Errorf("hold goes back to %q, want %q", got, test.want)
			}
		})
	}
}

// A release that is deleted before the status of the pass that took its workload over was written goes back all the
// same: the workload bears what it goes back to.
func TestReleaseIsDeletedBeforeItsStatusIsWritten(t *testing.T) {
	t.Parallel()
	unwritten := func(s *v1alpha1.BatchReleaseStatus) { *s = v1alpha1.BatchReleaseStatus{} }
	afterRollback := func(s *v1alpha1.BatchReleaseStatus) {
		*s = v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseCompleted, RollbackTo: "v1", UpdateRevision: "v1", StableRevision: "v1", Resolved: resolved("v1"),
		}
	}
	deleted := func(o *Observation) { o.Release.DeletionTimestamp = new(metav1.NewTime(noon)) }
	proceed := func(o *Observation) { o.Release.Spec.DeletionPolicy = v1alpha1.DeletionProceed }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"of a first release":         {held(10).sets(set("v1", 10)).status(unwritten).but(deleted), "hand back with template v1"},
		"of one after a rollback":    {held(10).sets(set("v1", 10)).status(afterRollback).but(deleted), "hand back with template v1"},
		"of one that is to go on":    {held(10).sets(set("v1", 10)).status(unwritten).but(deleted).but(proceed), "hand back"},
		"where the status was there": {held(10).sets(set("v1", 10)).but(deleted), "hand back with template v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := script(next(t, test.scene))
			if len(got) == 0 || !strings.HasPrefix(got[0], test.want+":") {
				t.Errorf("plan is %q, want %q first", got, test.want)
			}
		})
	}
}
