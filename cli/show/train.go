package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// trainNode returns the train of a member.
func trainNode(release *v1alpha1.BatchRelease) []Node {
	if release.Spec.Train == "" {
		return nil
	}
	return []Node{{Name: "train/" + release.Spec.Train, Text: "gives the release its steps, and asks for their gates: sluice get " + release.Spec.Train}}
}

// membersNode returns the members of a train: a line for each of its run, and one for the others.
func membersNode(w *Whole) Node {
	run := RunOf(w.Release, w.Members)
	node := Node{Name: "members", Text: fmt.Sprintf("%d of %s in the last run", len(run), plain.Count(len(w.Release.Spec.MemberTemplates), "member"))}
	for _, member := range run {
		node.Children = append(node.Children, Node{Name: "batchrelease/" + member.Name, State: member.State, Text: member.Text()})
	}
	var others []string
	for _, template := range w.Release.Spec.MemberTemplates {
		if !slices.ContainsFunc(run, func(m RunMember) bool { return m.Name == template.Name }) {
			others = append(others, template.Name)
		}
	}
	if len(others) > 0 {
		node.Children = append(node.Children, Node{Name: "unchanged", Text: plain.UpTo(strings.Join(others, ", "), mostOthers)})
	}
	return node
}

// mostOthers limits the names of members that a run leaves as they are, in bytes.
const mostOthers = 200

// RunMember is a member of a train's run, as people see it.
type RunMember struct {
	Name string
	// Release is nil if it does not exist, or can't be read.
	Release *v1alpha1.BatchRelease
	State   State
	// Done is the number of steps that it has done in the run, of Steps; 0 in one that returns.
	Done, Steps int32
	// Returns means that it goes back, or has gone back, to what it ran before.
	Returns bool
}

// RunOf returns the members of the last run of a train.
func RunOf(train *v1alpha1.BatchRelease, members []v1alpha1.BatchRelease) []RunMember {
	if train.Status.Run == nil {
		return nil
	}
	run := make([]RunMember, 0, len(train.Status.Run.Members))
	for _, of := range train.Status.Run.Members {
		member := RunMember{Name: of.Name, Steps: int32(len(train.Spec.Strategy.Steps)), Returns: of.Returns, State: Bad}
		if at := slices.IndexFunc(members, func(m v1alpha1.BatchRelease) bool { return m.Name == of.Name }); at >= 0 {
			member.Release = &members[at]
			member.State, member.Done = StateOf(member.Release), stepsDone(train, member.Release, of.Template)
		}
		run = append(run, member)
	}
	return run
}

// stepsDone returns how many steps a member has done in the run.
func stepsDone(train, member *v1alpha1.BatchRelease, template string) int32 {
	status := &member.Status
	switch {
	case status.Rollback != nil || status.Resolved == nil || status.Resolved.Given != template:
		return 0
	case status.Phase == v1alpha1.PhaseCompleted:
		return int32(len(train.Spec.Strategy.Steps))
	case status.Train == nil || status.Train.Attempt != train.Status.Attempt:
		return 0
	default:
		return status.Train.Done
	}
}

// Text returns how far a member is, in words.
func (m RunMember) Text() string {
	if m.Release == nil {
		return "not found"
	}
	words := fmt.Sprintf("%d of %s done", m.Done, plain.Count(m.Steps, "step"))
	switch {
	case m.Returns && m.Release.Status.Phase == v1alpha1.PhaseCompleted:
		words = "returned"
	case m.Returns:
		words = "returns"
	}
	standing := cmp.Or(Standing(m.Release), "not looked at yet")
	return fmt.Sprintf("%s, %s: %s", words, standing, m.Release.Status.Message)
}
