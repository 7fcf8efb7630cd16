package plan

import (
	"testing"

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
