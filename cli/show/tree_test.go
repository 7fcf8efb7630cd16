package show

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// shop returns a release of four pods that waits for approvals after its second batch.
func shop() *Whole {
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "release", Annotations: map[string]string{
			v1alpha1.CommitAnnotation: "2222222222", v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: "web: version 2",
		}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("50%")},
				{Replicas: intstr.FromString("75%"), Gates: []v1alpha1.GatePolicy{
					{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: 10 * time.Minute}}},
				}},
				{Replicas: intstr.FromString("100%")},
			}},
		},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, Batch: "2/4", CurrentStepIndex: 1, CurrentStepState: v1alpha1.StepBlocking,
			StepStartedAt: &metav1.Time{}, Message: "batch 2/4 done with 2 pods of 4, waiting for approval #12, ci/smoke",
			UpdateRevision: "new", StableRevision: "old", Commit: "2222222222", Attempt: 3,
			TargetReplicas: 2, UpdatedReplicas: 2, UpdatedAvailableReplicas: 2, LastUpdateTime: new(at(3 * time.Minute)),
		},
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{v1alpha1.HoldAnnotation: "{}"}},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(4))}, Status: appsv1.DeploymentStatus{AvailableReplicas: 3},
	}
	w := &Whole{Release: release, Workload: deployment}
	w.Sets = []appsv1.ReplicaSet{set("old", 2, 1), set("older", 0, 0), set("new", 2, 2)}
	w.Pods = []corev1.Pod{pod("old", "a", ready), pod("old", "b", crashing), pod("new", "d", ready), pod("new", "c", ready)}
	w.Gates = []v1alpha1.Gate{
		gateAt(1, 1, v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke", Creators: []string{"ci"}}}),
		gateAt(1, 0, v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{
			MinApprovals: 1, Approvers: []string{"grace"}, Teams: []string{"sre"}, ForbidSelfApproval: true,
		}}),
		gateAt(0, 0, v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}),
	}
	w.Gates[0].Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionRejected, Message: "status ci/smoke on commit 2222222 is failure"}
	w.Gates[1].Status = v1alpha1.GateStatus{
		Message:     "waits for pull request #12 to be merged",
		PullRequest: &v1alpha1.PullRequestReference{Number: 12, URL: "https://github.com/example/shop/pull/12"},
	}
	w.Gates[2].Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionPassed, Message: "confirmed by ada", DecidedAt: new(at(time.Hour))}
	return w
}

func set(revision string, wanted, available int32) appsv1.ReplicaSet {
	return appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + revision, UID: types.UID(revision), Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: revision},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &wanted, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "web:" + revision}}},
		}},
		Status: appsv1.ReplicaSetStatus{Replicas: wanted, AvailableReplicas: available},
	}
}

func ready(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func crashing(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}
}

func pod(set, suffix string, is func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + set + "-" + suffix, CreationTimestamp: at(5 * time.Minute),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(set), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
	}
	is(&pod)
	return pod
}

func gateAt(step, index int32, policy v1alpha1.GatePolicy) v1alpha1.Gate {
	return v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Name: "web-new-" + strconv.Itoa(int(step)) + "-" + strconv.Itoa(int(index)), CreationTimestamp: at(2 * time.Minute)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "release"}, Revision: "new", Attempt: 3,
			Step: step, Index: index, Type: policy.Type(), Policy: policy,
		},
	}
}

const shopTree = `
◷ batchrelease/web  Waiting: batch 2/4 done with 2 pods of 4, waiting for approval #12, ci/smoke (3m)
├─ commit 2222222        web: version 2, by Ada
├─ deployment/web        3 of 4 pods available, held by Sluice
├─ ✔ batch 1/4           1 pod
│  └─ ✔ gate/web-new-0-0  manual: confirmed by ada (60m)
├─ ◷ batch 2/4           50%
│  ├─ ◷ gate/web-new-1-0  pullRequest: waits for pull request #12 to be merged (2m)
│  │  ├─ needs             the merge of a pull request, 1 approval by grace or team sre, not by an author
│  │  └─ pull request #12  https://github.com/example/shop/pull/12
│  └─ ✖ gate/web-new-1-1  commitStatus: status ci/smoke on commit 2222222 is failure (2m)
│     └─ needs  status ci/smoke: success, posted by ci
├─ batch 3/4             75%
│  └─ gate 1 of batch 3/4  soak: 10m0s
├─ batch 4/4             100%
├─ ✔ replicaset/web-new  new, web:new: 2 of 2 pods available
│  ├─ ✔ pod/web-new-c  ready, on node-1 (5m)
│  └─ ✔ pod/web-new-d  ready, on node-1 (5m)
└─ ▸ replicaset/web-old  stable, web:old: 1 of 2 pods available
   ├─ ✔ pod/web-old-a  ready, on node-1 (5m)
   └─ ✖ pod/web-old-b  CrashLoopBackOff of container web, on node-1 (5m)`

func TestTree(t *testing.T) {
	t.Parallel()
	got := "\n" + strings.Join(Draw(Tree(shop()), noon, false), "\n")
	if diff := cmp.Diff(shopTree, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// TestManyPods: of a large ReplicaSet only the pods that need somebody's eye are shown.
func TestManyPods(t *testing.T) {
	t.Parallel()
	w := shop()
	for i := range 30 {
		w.Pods = append(w.Pods, pod("new", "x"+string(rune('A'+i)), ready))
	}
	w.Pods = append(w.Pods, pod("new", "bad", crashing))
	got := strings.Join(Draw(Tree(w), noon, false), "\n")
	if !strings.Contains(got, "pods of web-new  32 are ready") || !strings.Contains(got, "✖ pod/web-new-bad") || strings.Contains(got, "web-new-c ") {
		t.Errorf("want 32 pods counted and the broken one shown, got:\n%s", got)
	}
}

// TestChanges: a line for each thing that is not as it was, and none for time that goes by.
func TestChanges(t *testing.T) {
	t.Parallel()
	before := Tree(shop())
	if all := Changes(nil, before); len(all) != len(Draw(before, noon, false)) {
		t.Errorf("want everything to be new at first, got %q", all)
	}
	w := shop()
	w.Pods = append(w.Pods[:1], w.Pods[2:]...)
	w.Pods[0].DeletionTimestamp = new(at(0))
	w.Gates[1].Status.Decision, w.Gates[1].Status.Message = v1alpha1.DecisionPassed, "pull request #12 was merged by grace"
	want := []string{
		"✔ gate/web-new-1-0: pullRequest: pull request #12 was merged by grace",
		"pod/web-old-a: terminating, on node-1",
		"gate/web-new-1-0 needs: gone", "gate/web-new-1-0 pull request #12: gone", "pod/web-old-b: gone",
	}
	if diff := cmp.Diff(want, Changes(&before, Tree(w))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestCut: a line is cut by what is seen of it.
func TestCut(t *testing.T) {
	t.Parallel()
	line := "├─ " + Good.paint("✔ web") + " is fine"
	if got, want := Cut(line, 6), "├─ \x1b[32m✔ w\x1b[0m"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if got := Cut(line, 80); got != line {
		t.Errorf("want all of a line that fits, got %q", got)
	}
}

// TestTreeTellsTheTruth: the tree names states that its objects alone would not show.
func TestTreeTellsTheTruth(t *testing.T) {
	t.Parallel()
	drifted := func(w *Whole) {
		w.Release.Status.Phase, w.Release.Status.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted
		w.Release.Status.State = v1alpha1.StateDrifted
		w.Release.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, LastTransitionTime: at(time.Minute)}}
		w.Sets = append(w.Sets, set("hotfix", 4, 4))
		w.Workload.(*appsv1.Deployment).Spec.Template = w.Sets[len(w.Sets)-1].Spec.Template
	}
	backFrom := func(attempt int64, state v1alpha1.RevertState) func(*Whole) {
		return func(w *Whole) {
			w.Release.Status.Revert = &v1alpha1.Revert{
				Attempt: attempt, State: state, Message: "the template is built by kustomize",
				PullRequest: &v1alpha1.PullRequestReference{Number: 13, URL: "https://github.com/example/shop/pull/13"},
			}
		}
	}
	cases := map[string]struct {
		reason string
		change func(*Whole)
		parts  []string
	}{
		"Drifted": {"what somebody has put in the release's place is not called old", drifted, []string{"✖ batchrelease/web  Drifted", "replicaset/web-hotfix  changed out of band, web:hotfix"}},
		"Since":   {"drift began after the release had ended", drifted, []string{"waiting for approval #12, ci/smoke (60s)"}},
		"Stopped": {"a release is on hold since it was stopped, and not since its batch was done", func(w *Whole) {
			w.Release.Status.State, w.Release.Status.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{v1alpha1.StopFrozen}
			w.Release.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue, LastTransitionTime: at(2 * time.Minute)}}
		}, []string{"ci/smoke (2m)"}},
		"PodsCrash": {"pods that crash need somebody long before the deadline says so", func(w *Whole) {
			w.Release.Status.PodTrouble = &v1alpha1.PodTrouble{Reason: v1alpha1.PodsCrash}
		}, []string{"✖ batchrelease/web  Waiting"}},
		"Revert":        {"the pull request with which Git is to follow says what to do", backFrom(3, v1alpha1.RevertOpen), []string{"◷ revert #13          merge it to update Git: https://github.com/example/shop/pull/13"}},
		"RevertRefused": {"where there is none, a person has to do it", backFrom(3, v1alpha1.RevertRefused), []string{"◷ revert              change Git by hand: the template is built by kustomize"}},
		"RevertBefore":  {"that of an earlier rollback is over", backFrom(2, v1alpha1.RevertClosed), []string{"web: version 2, by Ada\n├─ deployment/web"}},
		"RolledBack": {"the commit that was left does not look released", func(w *Whole) {
			s := &w.Release.Status
			s.Phase, s.UpdateRevision = v1alpha1.PhaseCompleted, "old"
			s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "new"}
		}, []string{"✖ batchrelease/web  RolledBack", "rolled back: web: version 2, by Ada", "web-old  restored", "web-new  rolled back"}},
		"Jump": {"a jump that waits for a gate that can't be skipped is not forgotten", func(w *Whole) {
			w.Release.Status.Jump = &v1alpha1.Jump{Attempt: 3, From: 1, To: 3, Time: at(time.Minute)}
		}, []string{"◷ jump                to batch 4/4"}},
		"Source": {"a source that can't be read brings nothing", func(w *Whole) {
			w.Source = &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			w.Source.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "FilesInvalid", Message: "web.yaml:3: unknown field", LastTransitionTime: at(time.Minute),
			}}
		}, []string{"✖ releasesource/shop  FilesInvalid: web.yaml:3: unknown field (60s)"}},
		"Origin": {"a template without a commit has what its workload says", func(w *Whole) {
			w.Release.Annotations = map[string]string{v1alpha1.SubjectAnnotation: "Helm release web, web-1.2.3"}
			w.Release.Spec.Follow, w.Release.Status.Commit = v1alpha1.FollowWorkload, ""
		}, []string{"├─ origin                Helm release web, web-1.2.3\n"}},
		"WorkloadNotFound": {"the controller has looked, and waits for a workload", func(w *Whole) {
			w.Release.Status = v1alpha1.BatchReleaseStatus{State: v1alpha1.StateWorkloadNotFound, Message: `Deployment "web" does not exist`}
		}, []string{`▸ batchrelease/web  Waiting: Deployment "web" does not exist`}},
		"Warnings": {"who approves must know what nobody has approved, and what may be in the way", func(w *Whole) {
			w.Release.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionBeyondStep, Status: metav1.ConditionTrue, Message: "3 of 4 pods run revision new", LastTransitionTime: at(time.Minute)},
				{Type: v1alpha1.ConditionPreflightFailed, Status: metav1.ConditionFalse, Message: "PodDisruptionBudget web", LastTransitionTime: at(time.Minute)},
			}
		}, []string{"✖ beyond the step     3 of 4 pods run revision new (60s)\n", "├─ preflight             PodDisruptionBudget web (60s)\n"}},
		"NotAvailable": {"completed says that all pods run the version, and not that they serve", func(w *Whole) {
			w.Release.Status.Phase, w.Release.Status.State = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted
			w.Workload.(*appsv1.Deployment).Status.AvailableReplicas = 0
		}, []string{"✔ batchrelease/web  Completed", "✖ deployment/web      0 of 4 pods available"}},
		"FewAvailable": {"some of them may not be yet", func(w *Whole) {
			w.Release.Status.Phase, w.Release.Status.State = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted
		}, []string{"▸ deployment/web      3 of 4 pods available"}},
		"Stale": {"a status that speaks of the template before says nothing of batches, and the set of the new one is new", func(w *Whole) {
			w.Release.Generation = 2
			w.Release.Status.ObservedGeneration, w.Release.Status.UpdateRevision = 1, "old"
			w.Workload.(*appsv1.Deployment).Spec.Template = w.Sets[2].Spec.Template
		}, []string{"├─ batch 1/4             1 pod\n", "replicaset/web-new  new", "replicaset/web-old  old"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shop()
			tc.change(w)
			got := strings.Join(Draw(Tree(w), noon, false), "\n")
			for _, part := range tc.parts {
				if !strings.Contains(got, part) {
					t.Errorf("%s: want %q in:\n%s", tc.reason, part, got)
				}
			}
		})
	}
}

// TestBatchInProgress: how far the current batch is comes from the pods, not from the status of the
// release, which counts every few seconds.
func TestBatchInProgress(t *testing.T) {
	t.Parallel()
	moving := func() *Whole {
		w := shop()
		s := &w.Release.Status
		s.CurrentStepState, s.TargetReplicas, s.UpdatedReplicas, s.UpdatedAvailableReplicas = v1alpha1.StepUpgrade, 3, 0, 0
		return w
	}
	places := func(kind Object, versions ...string) *Whole {
		w := moving()
		kind.SetUID("workload")
		w.Workload, w.Sets, w.Pods = kind, nil, nil
		for i, version := range versions {
			of := pod("workload", strconv.Itoa(i), ready)
			of.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: version}
			w.Pods = append(w.Pods, of)
		}
		return w
	}
	going := places(&appsv1.StatefulSet{}, "web-new", "web-new", "web-old")
	going.Pods[0].DeletionTimestamp, going.Pods[1].Status.Conditions = new(at(0)), nil
	without := moving()
	without.Workload = nil
	for name, tc := range map[string]struct {
		whole *Whole
		want  string
	}{
		"Deployment":      {moving(), "2 of 3 pods updated, 2 available"},
		"NoSetYet":        {&Whole{Release: moving().Release, Workload: moving().Workload}, "0 of 3 pods updated, 0 available"},
		"StatefulSet":     {places(&appsv1.StatefulSet{}, "web-new", "web-new", "web-old"), "2 of 3 pods updated, 2 available"},
		"DaemonSet":       {places(&appsv1.DaemonSet{}, "new", "old"), "1 of 3 pods updated, 1 available"},
		"Going":           {going, "1 of 3 pods updated, 0 available"},
		"MinReadySeconds": {places(&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{MinReadySeconds: 9}}, "new", "old"), "1 of 3 pods updated, 1 ready"},
		"NoWorkload":      {without, "0 of 3 pods updated, 0 available"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := batches(tc.whole)[1].Text; got != "50%: "+tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
