package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

// plainServer returns a gate whose source is a Git server without a forge, which has the gate's
// record.
func plainServer() approving {
	s := merged(v1alpha1.PullRequestGate{MinApprovals: 2})
	s.gate.Status = v1alpha1.GateStatus{}
	s.source.Spec.Forge, s.forge = nil, nil
	s.source.Status.LastSyncTime = new(metav1.NewTime(mergedAt))
	return s
}

func TestTheRecordAlonePassesWithoutAForge(t *testing.T) {
	t.Parallel()
	const (
		waits  = "waits for .sluice/approvals/shop/web.yaml on branch main, as in status.record: "
		nobody = ". ReleaseSource shop/main has no forge: nobody checks who puts it there"
	)
	onBranch := func(change func(*v1alpha1.ApprovalRecord)) func(approving) {
		return func(s approving) { change(&s.source.Status.Approvals[0]) }
	}
	waiting := func(why string) v1alpha1.GateStatus {
		return v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: waits + why + nobody}
	}
	tests := map[string]struct {
		change func(approving)
		want   v1alpha1.GateStatus
	}{
		"it is there": {func(approving) {}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionPassed, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
			Message: ".sluice/approvals/shop/web.yaml is on branch main; no rule about reviewers could be checked: " +
				"ReleaseSource shop/main has no forge",
			Evidence: []v1alpha1.Evidence{{
				Kind: EvidenceRecordMerged, SHA: tipCommit, Time: new(metav1.NewTime(mergedAt)),
				Detail: ".sluice/approvals/shop/web.yaml (blob " + recordBlob + ") is on branch main",
			}},
		}},
		"there is none":         {func(s approving) { s.source.Status.Approvals = nil }, waiting("there is none yet")},
		"for another release":   {onBranch(func(r *v1alpha1.ApprovalRecord) { r.Namespace = "lab" }), waiting("there is none yet")},
		"for another revision":  {onBranch(func(r *v1alpha1.ApprovalRecord) { r.Revision = "58d4" }), waiting("of the one there, it is for revision 58d4")},
		"for another step":      {onBranch(func(r *v1alpha1.ApprovalRecord) { r.Step = 2 }), waiting("of the one there, it is for step 3")},
		"for another gate":      {onBranch(func(r *v1alpha1.ApprovalRecord) { r.Nonce = "0" }), waiting("of the one there, it is for another gate of this step")},
		"it came with the code": {func(s approving) { s.source.Status.ObservedCommit = releaseCommit }, waiting("the one there came with the release itself")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := plainServer()
			tc.change(scene)
			tc.want.Record = &v1alpha1.RecordFile{Path: recordPath, Content: string(record.Format(record.Of(scene.gate)))}
			if diff := cmp.Diff(Decision{Status: tc.want}, scene.evaluate()); diff != "" {
				t.Errorf("Evaluate(...): -want +got:\n%s", diff)
			}
		})
	}
}

func TestRecordOnBranch(t *testing.T) {
	t.Parallel()
	scene := plainServer()
	if !RecordOnBranch(scene.gate, scene.source) {
		t.Error("the record that Git shows must be seen")
	}
	if RecordOnBranch(scene.gate, nil) {
		t.Error("a release without a source has no branch")
	}
	scene.gate.Spec.Nonce = "another"
	if RecordOnBranch(scene.gate, scene.source) {
		t.Error("the record of another gate must not count")
	}
}

func TestQueryAsksForNoMoreThanThePolicyNeeds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy v1alpha1.PullRequestGate
		want   forge.ApprovalQuery
	}{
		"the merge alone": {v1alpha1.PullRequestGate{}, forge.ApprovalQuery{Number: 12, Tip: tipCommit, Branch: "main"}},
		"reviews": {
			v1alpha1.PullRequestGate{MinApprovals: 1},
			forge.ApprovalQuery{Number: 12, Tip: tipCommit, Branch: "main", Reviews: true, Commits: true},
		},
		"people": {
			v1alpha1.PullRequestGate{Approvers: []string{"ada"}, Teams: []string{"sre"}, ForbidSelfApproval: true},
			forge.ApprovalQuery{
				Number: 12, Tip: tipCommit, Branch: "main", Commits: true, ReleaseCommit: releaseCommit, StableCommit: stableCommit,
				Approvers: []string{"ada"}, Teams: []string{"sre"},
			},
		},
	}
	for name, tc := range tests {
		scene := merged(tc.policy)
		if diff := cmp.Diff(tc.want, Query(scene.gate, scene.facts())); diff != "" {
			t.Errorf("%s: Query(...): -want +got:\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(forge.ApprovalQuery{}, Query(newGate(manualPolicy()), Facts{})); diff != "" {
		t.Errorf("a gate that asks for nothing: -want +got:\n%s", diff)
	}
}

func TestAsks(t *testing.T) {
	t.Parallel()
	for gateType, want := range map[v1alpha1.GateType]bool{
		v1alpha1.GatePullRequest: true, v1alpha1.GateCommitStatus: true, v1alpha1.GateCheckRun: true,
		v1alpha1.GateManual: false, v1alpha1.GateSoak: false, v1alpha1.GateWindow: false, v1alpha1.GateNone: false, "analysis": false,
	} {
		if got := Asks(gateType); got != want {
			t.Errorf("Asks(%q): got %t, want %t", gateType, got, want)
		}
	}
}
