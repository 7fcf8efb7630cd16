package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// isTrain reports whether the change is that of a train.
func (c *Change) isTrain() bool { return c.release != nil && c.release.IsTrain() }

// changedMembers returns the templates of a train that differ from those before.
func changedMembers(was, is *spec.Release) []v1alpha1.MemberTemplate {
	if was == nil {
		return is.Members
	}
	return slices.DeleteFunc(slices.Clone(is.Members), func(m v1alpha1.MemberTemplate) bool {
		return slices.ContainsFunc(was.Members, func(before v1alpha1.MemberTemplate) bool {
			return before.Name == m.Name && before.Template == m.Template
		})
	})
}

// detailTrain says which members a train releases together, in which order, and what holds them.
func (c *comparison) detailTrain(change *Change, was *spec.Release) {
	train := &change.object.Spec
	changed := changedMembers(was, change.release)
	change.Members = inOrder(train, changed)
	change.batches(nil)
	change.Frozen = frozen(c.freeze, change.object)
	if train.Suspend {
		change.note("spec.suspend is set: nothing happens until it is not.")
	}
	if change.Kind == RolledBack { // members that come after others return first
		slices.Reverse(change.Members)
		for i, line := range change.Members {
			change.Members[i], _, _ = strings.Cut(line, ",")
		}
	}
	if change.Kind != Released {
		return
	}
	if lockstep := train.Strategy.Lockstep; lockstep != nil && len(changed) > 1 {
		if share := lockstep.Percent(); share > 0 {
			change.note(fmt.Sprintf("No member is more than %d%% of its pods ahead of the slowest one.", share))
		} else {
			change.note(lockstepWords(lockstep.Steps()))
		}
	}
	for _, note := range lateNotes(train, changed) {
		change.note(note)
	}
	change.note(map[v1alpha1.FailurePolicy]string{
		v1alpha1.FailureRollback:           "If a member fails, all of them return.",
		v1alpha1.FailureRollbackDependents: "If a member fails, it returns, with those that come after it.",
	}[train.Strategy.OnFailure])
	change.dropNote("")
}

// lockstepWords says how many steps a member may be ahead of the slowest one.
func lockstepWords(skew int32) string {
	if skew == 0 {
		return "No member starts a batch before all have done the one before."
	}
	return fmt.Sprintf("A member may be %s ahead of the slowest one.", plain.Count(skew, "batch"))
}

// lateNotes says which members begin only after the gates of a batch have passed. Gates are asked
// once for all members, so nobody is asked again when these do the batch.
func lateNotes(train *v1alpha1.BatchReleaseSpec, changed []v1alpha1.MemberTemplate) []string {
	var notes []string
	for i, step := range train.Strategy.Steps {
		if names := lateMembers(train, changed, int32(i)+1); len(names) > 0 && asks(step, i+1 == len(train.Strategy.Steps)) {
			notes = append(notes, fmt.Sprintf("The gates of batch %d are asked before these begin, and not again for them: %s.",
				i+1, plain.UpTo(strings.Join(names, ", "), mostLate)))
		}
	}
	return notes
}

// mostLate limits the names in a note, in bytes.
const mostLate = 200

// asks reports whether a step has a gate that somebody or something passes.
func asks(step v1alpha1.Step, last bool) bool {
	if len(step.Gates) == 0 {
		return !last
	}
	return slices.ContainsFunc(step.Gates, func(g v1alpha1.GatePolicy) bool { return g.None == nil })
}

// lateMembers names the members that begin after others have done more than a step, counted from 1.
func lateMembers(train *v1alpha1.BatchReleaseSpec, changed []v1alpha1.MemberTemplate, step int32) []string {
	begun, late := map[string]bool{}, map[string]bool{}
	for _, m := range changed {
		begun[m.Group] = true
	}
	for range train.Members { // no way through them is longer
		for i := range train.Members {
			for _, after := range train.Members[i].After {
				r := after.Reached
				beyond := r == nil || r.Type == intstr.String || r.IntVal > step
				if begun[after.Member] && (beyond && step < int32(len(train.Strategy.Steps)) || late[after.Member]) {
					late[train.Members[i].Name] = true
				}
			}
		}
	}
	var names []string
	for _, m := range changed {
		if late[m.Group] {
			names = append(names, m.Name)
		}
	}
	return names
}

// inOrder names members, each after those that it waits for.
func inOrder(train *v1alpha1.BatchReleaseSpec, changed []v1alpha1.MemberTemplate) []string {
	entries, begun := map[string]*v1alpha1.TrainMember{}, map[string]bool{}
	for i := range train.Members {
		entries[train.Members[i].Name] = &train.Members[i]
	}
	for _, m := range changed {
		begun[m.Group] = true
	}
	level := map[string]int{}
	for range train.Members { // no way through them is longer
		for name, entry := range entries {
			for _, after := range entry.After {
				level[name] = max(level[name], level[after.Member]+1)
			}
		}
	}
	changed = slices.SortedFunc(slices.Values(changed), func(a, b v1alpha1.MemberTemplate) int {
		return cmp.Or(cmp.Compare(level[a.Group], level[b.Group]), strings.Compare(a.Name, b.Name))
	})
	lines := make([]string, 0, len(changed))
	for _, m := range changed {
		line := m.Name
		for _, after := range entries[m.Group].After {
			if !begun[after.Member] {
				continue
			}
			line += ", after " + after.Member
			if r := after.Reached; r != nil && r.String() != v1alpha1.ReachedCompleted {
				line += " has done step " + r.String()
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// noteKeptTrains says of members with new templates that they wait, as their trains have errors.
func (p *Preview) noteKeptTrains(is map[key]*spec.Release) {
	for i := range p.Releases {
		c := &p.Releases[i]
		moves := c.Kind == Released || c.Kind == RolledBack
		if c.Train != "" && moves && is[key{c.Namespace, c.Train}] == nil {
			c.note("It waits: train " + c.Train + " has errors, and releases nothing until they are fixed.")
		}
	}
}

// together says how many members a train releases, or has return.
func (c *Change) together() string {
	verb := "releases "
	if c.Kind == RolledBack {
		verb = "returns "
	}
	if len(c.Members) == 1 {
		return verb + c.Members[0]
	}
	return fmt.Sprintf("%s%d members together", verb, len(c.Members))
}

// addUp gives each train the pods of the members that it releases, if all are known.
func (p *Preview) addUp() {
	for i := range p.Releases {
		if train := &p.Releases[i]; train.isTrain() && train.Kind != Unchanged {
			p.addMembers(train)
		}
	}
}

func (p *Preview) addMembers(train *Change) {
	total, known := int32(0), len(train.Members) > 0
	pods, added := make([]int32, len(train.Batches)), make([]int32, len(train.Batches))
	surge, unavailable := int32(0), int32(0)
	for i := range p.Releases {
		member := &p.Releases[i]
		if member.Train != train.Name || member.Namespace != train.Namespace || !train.has(member.Name) {
			continue
		}
		if member.Replicas == nil || len(member.Batches) != len(train.Batches) {
			known = false
			break
		}
		total += *member.Replicas
		surge, unavailable = surge+member.Surge, unavailable+member.Unavailable
		for j := range member.Batches {
			pods[j], added[j] = pods[j]+*member.Batches[j].Pods, added[j]+*member.Batches[j].New
		}
	}
	if !known {
		return
	}
	train.Replicas, train.Surge, train.Unavailable = &total, surge, unavailable
	for j := range train.Batches {
		train.Batches[j].Pods, train.Batches[j].New = &pods[j], &added[j]
	}
}

// has reports whether a train releases a member.
func (c *Change) has(member string) bool {
	return slices.ContainsFunc(c.Members, func(line string) bool { name, _, _ := strings.Cut(line, ","); return name == member })
}

// checkTrains warns of trains that release more members than they may.
func (p *Preview) checkTrains(after *State) {
	for i := range p.Releases {
		c := &p.Releases[i]
		if !c.isTrain() || c.Kind == Unchanged {
			continue
		}
		if most := c.object.Spec.Strategy.MaxMembers; most != nil && len(c.Members) > int(*most) {
			p.Warnings = append(p.Warnings, spec.Find(after.Files, spec.Place{File: c.File, Line: c.release.Line}, "spec.strategy.maxMembers", fmt.Sprintf(
				"spec.strategy.maxMembers: the change releases %d members, and train %s may release %d at once: none is released until this is raised, or the change is split",
				len(c.Members), c.Name, *most)).Error())
		}
	}
}
