package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// withoutPods returns a release at its first gate whose workload was scaled to 0, and has the
// stable template since.
func withoutPods() *scene {
	return held(0).at(0, 0).sets(set("v1", 0), set("v2", 0)).but(func(o *Observation) {
		o.Workload.Digest, o.Workload.Revision, o.Workload.Hold.Emptied = "digest-v1", "v1", true
	})
}

// scaledUp says that the workload has been scaled up since.
func scaledUp(replicas int32) func(*Observation) {
	return func(o *Observation) { o.Workload.Replicas = replicas }
}

func TestWithoutPodsTheWorkloadHasTheStableTemplate(t *testing.T) {
	t.Parallel()
	const (
		toStable = "take over with template v1: scaled to 0: the next pods are of the stable revision v1"
		goesOn   = "take over with the template of the release: the release of revision v2 goes on"
	)
	last := func(s *v1alpha1.BatchReleaseStatus) { s.CurrentStepIndex = 2 }
	all := intstr.FromString("100%")
	checkScripts(t, map[string]scripted{
		"scaled to 0 it gets it before any pod goes": {held(0).at(0, 1).scaledFrom(10).sets(set("v1", 9), set("v2", 1)), []string{toStable}},
		"... in a step of all pods too, if not all requests go to them": {
			held(0).steps(v1alpha1.Step{Replicas: all, Traffic: "20%"}, step("100%")).at(0, 10).scaledFrom(10).sets(set("v1", 10), set("v2", 10)).traffic(silentFor(true, 0)), []string{toStable},
		},
		"... and not if they get all": {
			held(0).steps(step("100%"), step("100%")).at(0, 10).scaledFrom(10).sets(set("v1", 0), set("v2", 10)),
			[]string{"scale v2 10 -> 0: fewer replicas: the batch shrinks in proportion"},
		},
		"then the new pods go before the stable ones": {
			withoutPods().scaledFrom(10).sets(set("v1", 9), set("v2", 1)),
			[]string{"scale v2 1 -> 0: follow spec.replicas", "scale v1 9 -> 0: follow spec.replicas"},
		},
		"gates are asked all the same": {withoutPods(), []string{"open gate web-v2-1-0-0 (manual): batch 1/3 is done"}},
		"a stable ReplicaSet that is gone is made anew": {
			withoutPods().sets(set("v2", 0)),
			[]string{"create v1 with 0: the stable ReplicaSet is gone", "open gate web-v2-1-0-0 (manual): batch 1/3 is done"},
		},
		"scaled up, the native controller gives the stable set its pods first": {withoutPods().but(scaledUp(10)), nil},
		"until they are there, and it has seen that": {
			withoutPods().but(scaledUp(10)).sets(set("v1", 10, unobserved), set("v2", 0)), nil,
		},
		"scaled up before the others have gone, one that is alone is joined by a stable one": {
			withoutPods().but(scaledUp(10)).sets(set("v1", 0), set("v2", 1)), []string{"scale v1 0 -> 1" + beside},
		},
		"... whose ReplicaSet may be gone": {
			withoutPods().but(scaledUp(10)).sets(set("v2", 1)), []string{"create v1 with 1" + beside},
		},
		"... as soon as there is room: the native controller has to set the lone one to spec.replicas": {
			withoutPods().but(scaledUp(1)).sets(set("v1", 0), set("v2", 2)), nil,
		},
		"... also where its ReplicaSet is gone": {withoutPods().but(scaledUp(1)).sets(set("v2", 2)), nil},
		"... and pods that are to go are gone": {
			withoutPods().but(scaledUp(1)).sets(set("v1", 0), set("v2", 1, current(2))), nil,
		},
		"... without surge one beyond": {
			withoutPods().but(scaledUp(1)).bounds("0", "1").sets(set("v1", 0), set("v2", 1)), []string{"scale v1 0 -> 1" + beside},
		},
		"where none has pods it is made anew with what there is room for": {
			withoutPods().but(scaledUp(3)).sets(set("v2", 0, current(2))), []string{"create v1 with 2: the stable ReplicaSet is gone"},
		},
		"two are given no more pods by anybody, and the release goes on": {
			withoutPods().but(scaledUp(10)).sets(set("v3", 5), set("v2", 1)), []string{goesOn},
		},
		"then the release goes on": {withoutPods().but(scaledUp(10)).sets(set("v1", 10), set("v2", 0)), []string{goesOn}},
		"which is not decided on a cache": {
			withoutPods().but(scaledUp(10)).sets(set("v1", 10), set("v2", 0)).but(unlisted), []string{"needs counts"},
		},
		"where no version has a ReplicaSet any more it gets the stable template before pods come": {
			held(1).at(0, 0).sets(), []string{"take over with template v1: no version has pods: the next pods are of the stable revision v1"},
		},
		"nor does it give the version of the step what somebody has scaled up again meanwhile": {
			held(8).at(0, 0).sets(set("v1", 0), set("v2", 0)), []string{"take over with template v1: no version has pods: the next pods are of the stable revision v1"},
		},
		"all pods of the last step are approved": {withoutPods().status(last), []string{goesOn}},
	})
}

func TestAReleaseWithoutPodsThatIsDeleted(t *testing.T) {
	t.Parallel()
	proceed := func(o *Observation) { o.Release.Spec.DeletionPolicy = v1alpha1.DeletionProceed }
	p := next(t, withoutPods().deleted().but(proceed))
	for _, action := range p.Actions {
		if back, is := action.(HandBack); is && (back.Template == nil || !back.Template.Given) {
			t.Errorf("it is handed back with %v, want the template of the release", back.Template)
		}
	}
}

// TestRefusedGateFailsAReleaseWithoutPods: a gate that can't be created fails a release whose
// workload has no pods as it fails any other: no batch's clock runs there.
func TestRefusedGateFailsAReleaseWithoutPods(t *testing.T) {
	t.Parallel()
	gate := WriteOf(OpenGate{Name: "web-v2-1-0-0"})
	for waited, want := range map[time.Duration]v1alpha1.Phase{
		time.Minute: v1alpha1.PhaseRollingUpdate,
		tenMinutes:  v1alpha1.PhaseFailed,
	} {
		p := next(t, withoutPods().but(heldUp(gate, waited)))
		if p.Status.Phase != want || p.Status.RefusedWrite == nil {
			t.Errorf("after %s the phase is %s, want %s; the plan does %q, refused is %+v", waited, p.Status.Phase, want, script(p), p.Status.RefusedWrite)
		}
	}
}
