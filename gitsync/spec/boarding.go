package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	// maxRun limits the releases that the members of a train name.
	maxRun = 2000
	// maxLooks limits the comparisons of releases with the selectors of all trains.
	maxLooks = 20_000_000
	// maxMemberSteps limits the steps that the members of all trains get, in bytes.
	maxMemberSteps = 32 << 20
	// maxTrainProblems limits the problems that are reported of one train.
	maxTrainProblems = 20
)

// platform holds the releases of a repository while the trains find their members among them. It
// counts the work: a few bytes of a train can concern all releases.
type platform struct {
	releases map[objectKey][]located
	// names lists the releases of each namespace, without trains.
	names map[string][]string
	// lost lists the releases of each namespace that have an error.
	lost map[string][]located
	// taken maps each member to its train.
	taken map[objectKey]objectKey
	// looks counts the releases that selectors were compared with, and steps the bytes that members
	// get.
	looks, steps int
}

func platformOf(releases map[objectKey][]located, lost map[string][]located) *platform {
	names := map[string][]string{}
	for key, ls := range releases {
		if ls[0].train == nil {
			names[key.namespace] = append(names[key.namespace], key.name)
		}
	}
	for _, of := range names {
		slices.Sort(of)
	}
	return &platform{releases: releases, names: names, lost: lost, taken: map[objectKey]objectKey{}}
}

// selected returns the names of the releases that an entry names or selects, sorted. It reports
// false if it does not look, because selectors were compared with too many.
func (f *platform) selected(entry v1alpha1.TrainMember, namespace string) (names []string, looked bool) {
	if entry.Selector == nil {
		if f.releases[objectKey{namespace, entry.Name}] == nil {
			return nil, true
		}
		return []string{entry.Name}, true
	}
	if f.looks += len(f.names[namespace]) + len(f.lost[namespace]); f.looks > maxLooks {
		return nil, false
	}
	for _, name := range f.names[namespace] {
		if hasLabels(f.releases[objectKey{namespace, name}][0].labels, entry.Selector) {
			names = append(names, name)
		}
	}
	return names, true
}

// wrong returns a release that an entry selects, and that has an error; false if there is none.
func (f *platform) wrong(entry v1alpha1.TrainMember, namespace string) (l located, is bool) {
	if entry.Selector == nil {
		return located{}, false
	}
	at := slices.IndexFunc(f.lost[namespace], func(l located) bool { return hasLabels(l.labels, entry.Selector) })
	if at < 0 {
		return located{}, false
	}
	return f.lost[namespace][at], true
}

// boarding collects the members of one train.
type boarding struct {
	*pass
	*platform

	train    located
	key      objectKey
	members  []v1alpha1.MemberTemplate
	problems int
}

// membersOf returns the releases that a train names or selects, by name and group; nil if there is
// an error. It stops at a train with too many problems.
func (p *pass) membersOf(train located, key objectKey, at *platform) []v1alpha1.MemberTemplate {
	b := &boarding{pass: p, platform: at, train: train, key: key}
	for i, entry := range train.train.Members {
		if b.add(i, entry); b.problems >= maxTrainProblems || len(b.members) > maxRun {
			break
		}
	}
	if len(b.members) > maxRun {
		b.problem(train.at, "spec.members: selects more than %d releases, the most that a train can have", maxRun)
	}
	if b.problems > 0 || !b.fits() {
		return nil
	}
	slices.SortFunc(b.members, func(a, b v1alpha1.MemberTemplate) int { return strings.Compare(a.Name, b.Name) })
	return b.members
}

// problem reports what is wrong with the train.
func (b *boarding) problem(where position, format string, args ...any) {
	b.fail(b.train.file, where, fmt.Sprintf("train %s: ", b.train.name)+fmt.Sprintf(format, args...))
	b.problems++
}

// add adds the members of one entry.
func (b *boarding) add(i int, entry v1alpha1.TrainMember) {
	at, where := fmt.Sprintf("spec.members[%d]", i), b.train.membersAt[i]
	found, looked := b.selected(entry, b.key.namespace)
	wrong, isWrong := b.wrong(entry, b.key.namespace)
	switch {
	case !looked:
		b.problem(where, "%s: selector: the selectors of all trains are compared with more than %d releases: name members, or use fewer selectors", at, maxLooks)
		b.problems = maxTrainProblems
	case entry.Selector != nil && b.broken != "":
		b.problem(where, "%s: selector: may select a release in %s, which can't be parsed", at, b.broken)
	case isWrong:
		b.problem(where, "%s: selector: selects a BatchRelease that has an error (%s)", at, place(wrong.file, wrong.at.line))
	case len(found) == 0 && entry.Selector == nil:
		b.problem(where, "%s: BatchRelease %s is not in namespace %s of this repository, or has an error of its own", at, entry.Name, b.key.namespace)
	case len(found) == 0:
		b.problem(where, "%s: selector: no BatchRelease in namespace %s of this repository has these labels; those of workloads do not count", at, b.key.namespace)
	}
	for _, name := range found {
		if b.problems >= maxTrainProblems || len(b.members) > maxRun {
			return
		}
		b.take(name, entry.Name, at, where)
	}
}

// take adds one member.
func (b *boarding) take(name, group, at string, where position) {
	member := objectKey{b.key.namespace, name}
	l := b.releases[member][0]
	other, has := b.taken[member]
	switch {
	case l.manifest.train != nil:
		b.problem(where, "%s: %s is a train: a train can't be a member", at, name)
	case has && other == b.key:
		b.problem(where, "%s: %s is a member already", at, name)
	case has:
		b.problem(where, "%s: %s is a member of train %s too: a release has one train", at, name, other.name)
	case !l.stepless:
		b.fail(l.file, l.stepsAt, fmt.Sprintf("spec.strategy.steps: Forbidden: %s is a member of train %s (%s), which has the steps: remove these",
			name, b.train.name, place(b.train.file, b.train.at.line)))
		b.problems++
	}
	b.taken[member] = b.key
	b.members = append(b.members, v1alpha1.MemberTemplate{Name: name, Group: group})
}

// fits reports whether all members can get the steps of the train.
func (b *boarding) fits() bool {
	steps, err := json.Marshal(memberSteps(b.train.train.Strategy.Steps, true))
	if err != nil {
		b.problem(b.train.stepsAt, "%s: %v", stepsPath, err)
		return false
	}
	if b.steps += len(steps) * len(b.members); b.steps > maxMemberSteps {
		b.problem(b.train.stepsAt, "%s: have %d bytes, and %d members get them: all members together can get %d: use fewer steps or matches",
			stepsPath, len(steps), len(b.members), maxMemberSteps)
		return false
	}
	return true
}
