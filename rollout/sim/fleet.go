package sim

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Train is the name of the train of a fleet.
const Train = "train"

// Fleet is a train and its members. Each is a state of its own, with its own process: one may stop
// or lag without the others.
type Fleet struct {
	// Train has no workload.
	Train   *State
	Members []*State
	// names has the train's name and then those of the members, and groups the entries of the train's
	// spec that these belong to.
	names, groups []string
	// left marks members that are in the train no more.
	left []bool
	// trainSeen are the trains that the caches show to members, and seen the members that they show to
	// the train; nil where they show the present one.
	trainSeen []*v1alpha1.BatchRelease
	seen      []*plan.Member
}

// FleetSetup describes the beginning of a fleet: members that run v1.
type FleetSetup struct {
	// Members are the members; Steps and Deadline of them do not count.
	Members []Setup
	Steps   []v1alpha1.Step
	// After are the members, by index, that must be through before a member starts.
	After     map[int][]int
	Lockstep  *v1alpha1.Lockstep
	OnFailure v1alpha1.FailurePolicy
	Supersede v1alpha1.SupersedePolicy
}

// NewFleet makes a fleet in which nothing has happened yet.
func NewFleet(s FleetSetup) *Fleet {
	train := NewState(Setup{Steps: s.Steps, OnFailure: s.OnFailure, Supersede: s.Supersede})
	spec := train.Release.Spec
	names := []string{Train}
	var members []*State
	spec.WorkloadRef, spec.Strategy.Lockstep = v1alpha1.WorkloadReference{}, s.Lockstep
	spec.Rollback, spec.DeletionPolicy, spec.Drift = nil, "", ""
	for i, setup := range s.Members {
		setup.Steps = slices.Clone(s.Steps)
		for j := range setup.Steps {
			setup.Steps[j].Gates = []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}}
		}
		members, names = append(members, NewState(setup)), append(names, MemberName(i))
		entry := v1alpha1.TrainMember{Name: MemberName(i)}
		for _, after := range s.After[i] {
			entry.After = append(entry.After, v1alpha1.Predecessor{Member: MemberName(after)})
		}
		spec.Members = append(spec.Members, entry)
	}
	return Assemble(train, members, names, names[1:])
}

// Assemble makes a fleet of a train and of members that run v1. names has the name of the train and
// those of the members, and groups the entries of the train's spec that these belong to.
func Assemble(train *State, members []*State, names, groups []string) *Fleet {
	f := &Fleet{
		Train: train, Members: members, names: names, groups: groups,
		trainSeen: make([]*v1alpha1.BatchRelease, len(members)), seen: make([]*plan.Member, len(members)), left: make([]bool, len(members)),
	}
	train.World.Workload.Absent, train.World.Sets = true, nil
	for _, member := range members {
		member.Release.Spec.Train = names[0]
		member.Release.Template = "v1"
	}
	f.board()
	f.commit()
	return f
}

// Name returns the name of the train, for seat 0, or of a member, counted from 1.
func (f *Fleet) Name(seat int) string { return f.names[seat] }

// MemberName returns the name of a member of a fleet that is made by NewFleet.
func MemberName(i int) string { return fmt.Sprintf("m%d", i+1) }

// name returns the name of the release: in a fleet that of its seat.
func (w *World) name() string {
	if w.fleet == nil {
		return Name
	}
	return w.fleet.Name(w.seat)
}

// board gives each world its place in the fleet.
func (f *Fleet) board() {
	f.Train.World.fleet, f.Train.World.seat = f, 0
	for i, member := range f.Members {
		member.World.fleet, member.World.seat = f, i+1
	}
}

// State returns the train, or a member counted from 1.
func (f *Fleet) State(seat int) *State {
	if seat == 0 {
		return f.Train
	}
	return f.Members[seat-1]
}

// Push commits a template for some members. Gitsync applies the releases one by one, in the order
// of seats; the train is one of them.
func (f *Fleet) Push(template string, members []int, order []int) {
	templates := map[int]string{}
	for _, i := range members {
		templates[i] = template
	}
	for _, seat := range order {
		if seat == 0 {
			f.commitWith(templates)
			continue
		}
		if template, changed := templates[seat-1]; changed {
			Event{Kind: Give, Text: template}.Apply(f.Members[seat-1])
		}
	}
}

// Leave commits that a member is one no more, or is one again. Gitsync applies the member and the
// train one after the other.
func (f *Fleet) Leave(i int, leaves, trainFirst bool) {
	f.left[i] = leaves
	if trainFirst {
		f.commit()
		defer f.Members[i].World.updateRelease(f.boarding(i))
		return
	}
	f.Members[i].World.updateRelease(f.boarding(i))
	f.commit()
}

// boarding returns the change of a member that leaves or joins.
func (f *Fleet) boarding(i int) func(*Release) {
	return func(r *Release) {
		spec := *r.Spec
		spec.Train = Train
		if f.left[i] {
			spec.Train = ""
		}
		r.Spec, r.Generation = &spec, r.Generation+1
	}
}

func (f *Fleet) commit() { f.commitWith(nil) }

// commitWith gives the train the templates of its members.
func (f *Fleet) commitWith(changed map[int]string) {
	spec := *f.Train.Release.Spec
	before := spec.MemberTemplates
	spec.MemberTemplates = nil
	var text []string
	for i, member := range f.Members {
		if f.left[i] {
			continue
		}
		template := v1alpha1.MemberTemplate{Name: f.Name(i + 1), Group: f.groups[i], Template: Given(member.Release.Template)}
		if at := slices.IndexFunc(before, func(t v1alpha1.MemberTemplate) bool { return t.Name == template.Name }); at >= 0 {
			template = before[at]
		}
		if given, is := changed[i]; is {
			template.Template = Given(given)
		}
		spec.MemberTemplates = append(spec.MemberTemplates, template)
		text = append(text, template.Template)
	}
	f.Train.World.updateRelease(func(r *Release) {
		r.Spec, r.Generation, r.Template = &spec, r.Generation+1, strings.Join(text, " ")
	})
}

// train returns the train as the API server has it.
func (f *Fleet) train() *v1alpha1.BatchRelease {
	object := f.Train.Release.object()
	object.Name, object.UID = f.Name(0), types.UID(f.Name(0))
	return object
}

// member returns a member as the API server has it.
func (f *Fleet) member(i int) plan.Member {
	release := f.Members[i].Release
	object := release.object()
	object.Name, object.UID = f.Name(i+1), types.UID(f.Name(i+1))
	return plan.Member{Release: object, Given: Given(release.Template)}
}

// Freeze keeps what the caches show of the train to a member, or of a member to the train.
func (f *Fleet) Freeze(i int, train bool) {
	if train {
		f.trainSeen[i] = f.train()
	} else {
		f.seen[i] = new(f.member(i))
	}
}

// Thaw lets all caches catch up.
func (f *Fleet) Thaw() {
	clear(f.trainSeen)
	clear(f.seen)
}

// observeFleet reads the caches of the other objects of the fleet.
func observeFleet(x *pass) {
	f := x.world.fleet
	switch {
	case f == nil:
	case x.world.seat == 0:
		for i := range f.Members {
			if f.left[i] {
				continue
			}
			member := cached(f.seen[i], f.member(i))
			x.facts.Members = append(x.facts.Members, plan.Member{Release: member.Release.DeepCopy(), Given: member.Given})
		}
	case f.left[x.world.seat-1]:
	default:
		train := f.trainSeen[x.world.seat-1]
		if train == nil {
			train = f.train()
		}
		x.facts.Train = train.DeepCopy()
	}
}

func readTrain(x *pass) {
	x.request()
	x.facts.Train = nil
	if x.release.Spec.Train != "" {
		x.facts.Train = x.world.fleet.train().DeepCopy()
	}
	x.world.see(factRead{plan.ReadTrain})
}

func readMembers(x *pass) {
	x.request()
	x.facts.Members = nil
	for i := range x.world.fleet.Members {
		if x.world.fleet.left[i] {
			continue
		}
		member := x.world.fleet.member(i)
		x.facts.Members = append(x.facts.Members, plan.Member{Release: member.Release.DeepCopy(), Given: member.Given})
	}
}

// String shows the fleet in a few lines.
func (f *Fleet) String() string {
	var text strings.Builder
	status := f.Train.Release.Status
	fmt.Fprintf(&text, "train %s %d %s attempt %d", status.Phase, status.CurrentStepIndex, status.CurrentStepState, status.Attempt)
	if status.Run != nil {
		for _, m := range status.Run.Members {
			fmt.Fprintf(&text, " %s:%d", m.Name, m.Steps)
			if m.Returns {
				fmt.Fprintf(&text, "(returns %t)", m.Back)
			}
		}
	}
	for i, member := range f.Members {
		fmt.Fprintf(&text, "\n    %s %s", f.Name(i+1), member.World)
		if at := member.Release.Status.Train; at != nil {
			fmt.Fprintf(&text, " run %d done %d", at.Attempt, at.Done)
		}
	}
	return text.String()
}

// retryMember has a member go on that has failed, if it still is as decided on.
func retryMember(x *pass, a plan.RetryMember) {
	for i, member := range x.world.fleet.Members {
		if x.world.fleet.Name(i+1) != a.Name {
			continue
		}
		if version(member.Release.Version) != a.Version {
			x.outdated("the member")
			return
		}
		member.Annotate(v1alpha1.RetryAnnotation, "true")
	}
}
