package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// scene is a release with what it waits for.
type scene struct {
	release *v1alpha1.BatchRelease
	gates   []v1alpha1.Gate
}

// rolling returns the release of a commit that is at the second of four batches.
func rolling(commit string) *scene {
	return &scene{release: &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid-web",
			Annotations: map[string]string{v1alpha1.CommitAnnotation: commit},
		},
		Spec: v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
			{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("30%")},
			{Replicas: intstr.FromInt32(6)}, {Replicas: intstr.FromString("100%")},
		}}},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, CurrentStepIndex: 1, CurrentStepState: v1alpha1.StepUpgrade,
			State: v1alpha1.StateRolling, StepStartedAt: &metav1.Time{Time: made}, Attempt: 3, Commit: commit, UpdateRevision: "7f9c", StableRevision: "58d4",
			Replicas: 10, TargetReplicas: 3, UpdatedReplicas: 2, UpdatedReadyReplicas: 1,
		},
	}}
}

func (s *scene) status(change func(*v1alpha1.BatchReleaseStatus)) *scene {
	change(&s.release.Status)
	return s
}

// troubled says that two of the updated pods crash.
func (s *scene) troubled() *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.PodTrouble = &v1alpha1.PodTrouble{
			Reason: v1alpha1.PodsCrash, Revision: status.UpdateRevision, Pods: 2, Message: "CrashLoopBackOff: exit code 1",
		}
	})
}

// told sets what was told last, as values and in words.
func (s *scene) told(commit string, content v1alpha1.ReportContent, description string) *scene {
	s.release.Status.Report = &v1alpha1.ForgeReport{
		Commit: commit, Context: context, State: string(stateOf(content.Kind)), Description: description, Posts: 2, Content: &content,
	}
	return s
}

// What was told last, as values.
var (
	toldUpdating = v1alpha1.ReportContent{Kind: v1alpha1.ReportUpdating, Batch: 2, Batches: 4}
	toldReleased = v1alpha1.ReportContent{Kind: v1alpha1.ReportReleased, Revision: "7f9c"}
	toldFailed   = because(v1alpha1.ReportFailed, "batch 2/4: no progress")
	toldDrifted  = because(v1alpha1.ReportDrifted, "drifted: image is web:9, not web:2")
	askedAtBatch = &v1alpha1.ReportCause{Kind: v1alpha1.CauseAsked, Batch: 2, Batches: 4}
	askedFor     = &v1alpha1.ReportCause{Kind: v1alpha1.CauseAsked}
)

func because(kind v1alpha1.ReportKind, why string) v1alpha1.ReportContent {
	return v1alpha1.ReportContent{Kind: kind, Batch: 2, Batches: 4, Cause: said(why)}
}

// back returns the report on a commit that is rolled back.
func back(kind v1alpha1.ReportKind, cause *v1alpha1.ReportCause) v1alpha1.ReportContent {
	return v1alpha1.ReportContent{Kind: kind, Revision: "58d4", Cause: cause}
}

// merging returns the same while people are asked to merge a pull request.
func merging(content v1alpha1.ReportContent) v1alpha1.ReportContent {
	content.PullRequest = 13
	return content
}

// blockedOn has the batch wait for gates.
func (s *scene) blockedOn(gates ...v1alpha1.Gate) *scene {
	s.release.Status.CurrentStepState, s.release.Status.State = v1alpha1.StepBlocking, v1alpha1.StateBlocked
	for i := range gates {
		gates[i].Name = fmt.Sprintf("web-7f9c-3-1-%d", i)
		s.release.Status.Gates = append(s.release.Status.Gates, v1alpha1.GateReference{Name: gates[i].Name, Type: gates[i].Spec.Type})
	}
	s.gates = gates
	return s
}

func (s *scene) failed(message string) *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.State, status.Message = v1alpha1.PhaseFailed, v1alpha1.StateFailed, message
	})
}

func (s *scene) completed() *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.State, status.Gates = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, nil
		status.TargetReplicas, status.UpdatedReplicas = 10, 10
	})
}

// reverting has Git asked to follow the rollback.
func (s *scene) reverting(state v1alpha1.RevertState) *scene {
	s.release.Status.Revert = &v1alpha1.Revert{
		Attempt: s.release.Status.Attempt, State: state, PullRequest: &v1alpha1.PullRequestReference{Number: 13, URL: pullAt},
	}
	return s
}

// drifted has somebody change the workload of a completed release.
func (s *scene) drifted() *scene {
	s.release.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Message: "image is web:9, not web:2",
	}}
	return s
}

// standing has the release stand still.
func (s *scene) standing(state v1alpha1.ReleaseState, message string) *scene {
	s.release.Status.State, s.release.Status.Message = state, message
	return s
}

// reverts returns the record of a rollback that a revert in Git requested.
func reverts() *v1alpha1.RollbackRecord {
	return &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: "7f9c"}
}

// reverted has Git taken back what was released before.
func (s *scene) reverted() *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.Rollback, status.UpdateRevision = v1alpha1.PhaseRollingBack, reverts(), "58d4"
		status.TargetReplicas, status.Attempt, status.CurrentStepIndex = 1, status.Attempt+1, 0
	})
}

func waitingGate(policy v1alpha1.GatePolicy) v1alpha1.Gate {
	return v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", CreationTimestamp: metav1.NewTime(made)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "uid-web"}, Revision: "7f9c", Attempt: 3, Commit: good, Step: 1,
			Type: policy.Type(), Policy: policy, Nonce: "5e1f",
		},
		Status: v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting},
	}
}

// approval returns a pullRequest gate whose pull request is open.
func approval() v1alpha1.Gate {
	g := waitingGate(v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}})
	g.Status.PullRequest = &v1alpha1.PullRequestReference{Number: 12, URL: pullAt}
	return g
}

func decided(g v1alpha1.Gate, decision v1alpha1.Decision, message string) v1alpha1.Gate {
	g.Status.Decision, g.Status.Message = decision, message
	return g
}

func smoke() v1alpha1.Gate {
	return waitingGate(v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke"}})
}

// lines returns statuses as one reads them: commit, state, description, link.
func lines(posts []Post) []string {
	var read []string
	for _, post := range posts {
		r := post.Status
		line := fmt.Sprintf("%.4s %s %s", r.SHA, r.State, r.Description)
		if r.TargetURL != "" {
			line += " -> " + r.TargetURL
		}
		if r.Context != context {
			line += " in " + r.Context
		}
		read = append(read, line)
	}
	return read
}
