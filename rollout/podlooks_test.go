package rollout

import (
	"context"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// contested is an API server where somebody else writes a status first, so often.
type contested struct {
	client.Client

	conflicts int
}

func (c *contested) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (c *contested) Status() client.SubResourceWriter { return &contestedStatus{server: c} }

type contestedStatus struct {
	client.SubResourceWriter

	server *contested
}

func (s *contestedStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	if s.server.conflicts--; s.server.conflicts >= 0 {
		return apierrors.NewConflict(schema.GroupResource{Resource: "batchreleases"}, "web", nil)
	}
	return nil
}

// looking returns a plan of a release whose updated pod is missing; it contains the time of the
// next check of the pod.
func looking(t *testing.T) plan.Plan {
	t.Helper()
	const strategy = `{"type":"RollingUpdate"}`
	began := metav1.NewTime(noon.Add(-time.Minute))
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
		Name: "web", UID: "release-1", Finalizers: []string{v1alpha1.Finalizer}, Annotations: map[string]string{v1alpha1.CurrentStableAnnotation: "v1"},
	}}
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	release.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")}}
	release.Status = v1alpha1.BatchReleaseStatus{
		Phase: v1alpha1.PhaseRollingUpdate, CurrentStepState: v1alpha1.StepUpgrade, Attempt: 1, UpdateRevision: "v2", StableRevision: "v1",
		Resolved: &v1alpha1.ResolvedTemplate{Given: "given", Digest: "digest-v2", Revision: "v2"}, WorkloadUID: "deployment-1",
		Held: &v1alpha1.HeldWorkload{Strategy: strategy}, Progress: &v1alpha1.Progress{Since: began},
		Batch: "1/2", TargetReplicas: 1, Replicas: 3, StepStartedAt: &began,
	}
	set := func(revision string, replicas, available int32) deployment.Set {
		return deployment.Set{
			Name: "web-" + revision, UID: types.UID(revision), Live: true, Observed: true, Digest: "digest-" + revision, Revision: revision,
			Replicas: replicas, Current: replicas, Ready: available, Available: available,
		}
	}
	next := plan.Next(plan.Observation{
		Now: noon, Release: release, Given: "given", PodLook: time.Second,
		Facts: plan.Facts{Live: plan.ReadRelease | plan.ReadWorkload | plan.ReadCounts | plan.ReadKept, Preflight: &preflight.Findings{}},
		Workload: &plan.Workload{
			UID: "deployment-1", Name: "web", Replicas: 3, Digest: "digest-v2", Revision: "v2",
			Hold:  &plan.Hold{Release: "web", UID: "release-1", Stable: "v1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: strategy}},
			Mover: &deployment.Mover{Strategy: strategy, Paused: true, Recreate: true, Sets: []deployment.Set{set("v1", 3, 3), set("v2", 1, 0)}},
		},
	})
	if next.PodLooks == (plan.PodLooks{}) {
		t.Fatalf("want a plan that looks at pods, got %+v", next)
	}
	return next
}

// TestALookThatIsNotToldDoesNotCount: a check of pods counts only once its status is written;
// after a failed write the next pass checks again.
func TestALookThatIsNotToldDoesNotCount(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(noon)
	r := newReconciler(&cluster{client: &contested{conflicts: 1}, live: &contested{}, clock: clock, processes: newProcesses(clock), recorder: events.NewFakeRecorder(9)})
	next := looking(t)
	process, release := newProcess(clock), &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "release-1", ResourceVersion: "7"}}
	pass := func() error {
		_, err := shell{r: r, v: &view{process: process, release: release.DeepCopy()}}.Settle(t.Context(), next, nil)
		return err
	}
	if err := pass(); err == nil || process.podLooks != (plan.PodLooks{}) {
		t.Errorf("want an error, and a look that does not count, got %v and %+v", err, process.podLooks)
	}
	if err := pass(); err != nil || process.podLooks != next.PodLooks {
		t.Errorf("want a look that counts, got %v and %+v", err, process.podLooks)
	}
}

// TestLooksOfManyReleasesAreFurtherApart: pods are checked less often where many releases are in
// progress, so that the sum of reads does not grow with their number.
func TestLooksOfManyReleasesAreFurtherApart(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(noon)
	r := newReconciler(&cluster{clock: clock, processes: newProcesses(clock)})
	v := &view{process: newProcess(clock), release: &v1alpha1.BatchRelease{}}
	for _, test := range []struct {
		releases int
		want     time.Duration
	}{{0, 5 * time.Second}, {80, 20 * time.Second}, {120, 30 * time.Second}, {10_000, 2500 * time.Second}} {
		for i := range test.releases {
			r.processes.note(r.processes.of(types.NamespacedName{Name: strconv.Itoa(i)}), true)
		}
		if got := (shell{r: r, v: v}).observation().PodLook; got != test.want {
			t.Errorf("with %d releases in progress pods are looked at every %s, want %s", test.releases, got, test.want)
		}
	}
}
