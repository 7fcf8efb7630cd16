package main

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const oldImage, newImage, newCommit = "nginx:1.27", "nginx:1.28", "0123456789"

// threePods returns the claims of the logs below: three pods, one more allowed, none missing,
// steps 1 and 3.
func threePods(confirmedAt uint64) claims {
	return claims{
		replicas: 3, maxSurge: 1, maxUnavailable: 0, targets: []int{1, 3}, first: oldImage, last: newImage,
		images:        map[string]string{newCommit: newImage},
		confirmations: []confirmation{{revision: confirmedAt, commit: newCommit, step: 0, actor: approver, what: "#1"}},
	}
}

// releaseLog returns a release as it should be: one new pod, an approval, the other two.
func releaseLog() *log {
	l := deployedLog()
	l.pod("d", newImage, starting)
	l.pod("d", newImage, available)
	l.pod("a", oldImage, ending)
	l.gone("a", oldImage)
	l.confirm()
	l.gate(v1alpha1.DecisionPassed, approver)
	for _, step := range []struct{ comes, goes string }{{"e", "b"}, {"f", "c"}} {
		l.pod(step.comes, newImage, available)
		l.pod(step.goes, oldImage, ending)
		l.gone(step.goes, oldImage)
	}
	l.deployment(false, false)
	l.release(v1alpha1.PhaseCompleted)
	return l
}

func deployedLog() *log {
	l := &log{}
	l.deployment(false, false)
	for _, name := range []string{"a", "b", "c"} {
		l.pod(name, oldImage, available)
	}
	return l
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		log    func() *log
		want   string
	}{
		"TooFewAvailable": {"an old pod goes before the new one is there", func() *log {
			l := releaseLog()
			l.pod("d", newImage, starting)
			l.pod("d", newImage, available)
			return l
		}, "only 2 pods were available"},
		"NotPassed": {"a second new pod comes while the gate is closed", func() *log {
			l := releaseLog()
			l.replaceGate(v1alpha1.DecisionWaiting, "")
			return l
		}, "2 pods of nginx:1.28 ran at revision"},
		"NotConfirmed": {"a gate passes before anybody has let it", func() *log {
			l := releaseLog()
			l.confirmed = l.last()
			return l
		}, "the gate after batch 1 of nginx:1.28 passed at revision 9, but nobody had let it"},
		"NoEvidence": {"a gate passes and names somebody else", func() *log {
			l := releaseLog()
			l.replaceGate(v1alpha1.DecisionPassed, developer)
			return l
		}, "passed without evidence of grace"},
		"NotAtTheGate": {"a gate is confirmed before its pod is available", func() *log {
			l := releaseLog()
			l.confirmed = 4
			return l
		}, "at the gate after batch 1, 0 of 3 pods ran nginx:1.28"},
		"NothingPassed": {"somebody lets a release through, and the gate does not say so", func() *log {
			l := releaseLog()
			l.replaceGate(v1alpha1.DecisionWaiting, "")
			return l
		}, "0 gates passed, 1 were let through"},
		"TooManyAskedFor": {"the ReplicaSets ask for more than the surge allows", func() *log {
			l := releaseLog()
			l.set("old", 3)
			l.set("new", 2)
			return l
		}, "5 pods were asked for"},
		"NotFinished": {"an old pod is left", func() *log {
			l := releaseLog()
			l.pod("g", oldImage, available)
			return l
		}, "in the end 3 of 4 pods ran nginx:1.28"},
		"StillHeld": {"the Deployment is not handed back", func() *log {
			l := releaseLog()
			l.deployment(true, true)
			return l
		}, "was not handed back as it was: held true, paused true"},
		"NotCompleted": {"the release says that it goes on", func() *log {
			l := releaseLog()
			l.release(v1alpha1.PhaseFinalizing)
			return l
		}, "the release is not completed: Finalizing"},
		"NeverDeployed": {"nothing ever ran", func() *log { return &log{} }, "was never deployed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := tc.log()
			found := threePods(l.confirmed).check(l.records)
			if got := strings.Join(found.broken, "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("%s: want a finding with %q, got:\n%s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestCheckOfTheOtherKinds: breaches are found for a StatefulSet and a DaemonSet as well, whose
// pods are replaced in place.
func TestCheckOfTheOtherKinds(t *testing.T) {
	t.Parallel()
	held := map[string]string{v1alpha1.HoldAnnotation: "{}"}
	partition := int32(2)
	tests := map[string]struct {
		reason              string
		before, during, end client.Object
		extra               bool
		want                string
	}{
		"StatefulSet": {"its own strategy is back", testSet(nil, nil), testSet(held, &partition), testSet(nil, nil), false, ""},
		"DaemonSet":   {"its own strategy is back", testDaemons(nil, false), testDaemons(held, true), testDaemons(nil, false), false, ""},
		"PartitionLeft": {
			"the partition stays", testSet(nil, nil), testSet(held, &partition), testSet(nil, &partition), false,
			"the StatefulSet was not handed back as it was: held false",
		},
		"OnDeleteLeft": {
			"OnDelete stays", testDaemons(nil, false), testDaemons(held, true), testDaemons(nil, true), false,
			"the DaemonSet was not handed back as it was: held false",
		},
		"HoldLeft": {
			"the annotation stays", testDaemons(nil, false), testDaemons(held, true), testDaemons(held, false), false,
			"the DaemonSet was not handed back as it was: held true",
		},
		"TooMany": {
			"a pod more than there are ordinals", testSet(nil, nil), testSet(held, &partition), testSet(nil, nil), true,
			"4 pods were asked for at revision 10, at most 3 were promised",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := replacedInPlace(tc.before, tc.during, tc.end, tc.extra)
			promised := threePods(l.confirmed)
			promised.maxSurge, promised.maxUnavailable = 0, 1
			found := promised.check(l.records)
			if got := strings.Join(found.broken, "\n"); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: want a finding with %q, got:\n%s", tc.reason, tc.want, got)
			}
			if !tc.extra && (found.leastAvailable != 2 || found.mostDesired != 3) {
				t.Errorf("%s: one pod at a time is away, and none is too many: got %+v", tc.reason, found)
			}
		})
	}
}

// replacedInPlace returns a release as it should be of a workload that goes through three states;
// extra is a pod too many.
func replacedInPlace(before, during, end client.Object, extra bool) *log {
	l := &log{}
	l.add(before, false)
	for _, name := range []string{"a", "b", "c"} {
		l.pod(name, oldImage, available)
	}
	l.add(during, false)
	replace := func(goes, comes string) {
		l.pod(goes, oldImage, ending)
		l.gone(goes, oldImage)
		l.pod(comes, newImage, available)
	}
	replace("c", "c2")
	l.confirm()
	l.gate(v1alpha1.DecisionPassed, approver)
	if extra {
		l.pod("d", oldImage, available)
		l.gone("d", oldImage)
	}
	replace("b", "b2")
	replace("a", "a2")
	l.add(end, false)
	l.release(v1alpha1.PhaseCompleted)
	return l
}

func testSet(annotations map[string]string, partition *int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Spec: appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: partition},
		}},
	}
}

func testDaemons(annotations map[string]string, onDelete bool) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	d.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	if onDelete {
		d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	}
	return d
}

// log makes up a watch log; each change has the next revision.
type log struct {
	records   []record
	confirmed uint64
}

type podState int

const (
	starting podState = iota
	available
	ending
)

func (l *log) last() uint64 { return uint64(len(l.records)) + 1 }

func (l *log) add(object client.Object, gone bool) {
	l.records = append(l.records, record{revision: l.last(), object: object, gone: gone})
}

func (l *log) pod(name, image string, state podState) { l.add(testPod(name, image, state), false) }
func (l *log) gone(name, image string)                { l.add(testPod(name, image, ending), true) }

func (l *log) set(name string, replicas int32) {
	l.add(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}, false)
}

func (l *log) deployment(paused, held bool) {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: paused}}
	if held {
		d.Annotations = map[string]string{v1alpha1.HoldAnnotation: "{}"}
	}
	l.add(d, false)
}

func (l *log) release(phase v1alpha1.Phase) {
	l.add(&v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{Phase: phase}}, false)
}

// confirm notes that somebody is about to let the release through its gate.
func (l *log) confirm() { l.confirmed = uint64(len(l.records)) }

func (l *log) gate(decision v1alpha1.Decision, by string) { l.add(testGate(decision, by), false) }

// replaceGate changes what a gate is recorded to say.
func (l *log) replaceGate(decision v1alpha1.Decision, by string) {
	for i, rec := range l.records {
		if _, ok := rec.object.(*v1alpha1.Gate); ok {
			l.records[i].object = testGate(decision, by)
		}
	}
}

func testGate(decision v1alpha1.Decision, by string) *v1alpha1.Gate {
	return &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{UID: "gate"},
		Spec:       v1alpha1.GateSpec{Commit: newCommit, Type: v1alpha1.GatePullRequest},
		Status:     v1alpha1.GateStatus{Decision: decision, Evidence: []v1alpha1.Evidence{{Actor: by}}},
	}
}

func testPod(name, image string, state podState) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
	}
	if state != starting {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if state == ending {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	}
	return pod
}
