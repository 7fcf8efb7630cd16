package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// memberSteps returns the steps of a train as a member has them: the gates are the train's, and
// only a member with routes shares requests. Without a train it is one step of all pods.
func memberSteps(train []v1alpha1.Step, routes bool) []v1alpha1.Step {
	if train == nil {
		train = []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}
	}
	steps := slices.Clone(train)
	for i := range steps {
		steps[i].Gates = []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}}
		if !routes {
			steps[i].Traffic, steps[i].Matches = "", nil
		}
	}
	return steps
}

// memberTemplates returns templates as unstructured content has them.
func memberTemplates(templates []v1alpha1.MemberTemplate) []any {
	all := make([]any, 0, len(templates))
	for _, t := range templates {
		all = append(all, map[string]any{"name": t.Name, "group": t.Group, "template": t.Template})
	}
	return all
}

// validateMembership checks what a release has as a train, or else its workload.
func validateMembership(spec *v1alpha1.BatchReleaseSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(is bool, path *field.Path, detail string) {
		if is {
			errs = append(errs, field.Forbidden(path, detail))
		}
	}
	strategy, train := at.Child("strategy"), len(spec.Members) > 0
	forbid(spec.Train != "", at.Child("train"), "is set by the ReleaseSource: name the release in spec.members of the train")
	forbid(len(spec.MemberTemplates) > 0, at.Child("memberTemplates"), "is set by the ReleaseSource")
	if spec.Members != nil && !train {
		return append(errs, field.Required(at.Child("members"), "at least one member"))
	}
	if !train {
		forbid(spec.Strategy.Lockstep != nil, strategy.Child("lockstep"), "is for trains: a release with members")
		forbid(spec.Strategy.MaxMembers != nil, strategy.Child("maxMembers"), "is for trains: a release with members")
		forbid(spec.Strategy.OnFailure == v1alpha1.FailureRollbackDependents, strategy.Child("onFailure"), "RollbackDependents is for trains: a release with members")
		return append(errs, validateReference(spec.WorkloadRef, at.Child("workloadRef"))...)
	}
	const has = "is not for a train: its members have it"
	forbid(spec.WorkloadRef != (v1alpha1.WorkloadReference{}), at.Child("workloadRef"), has)
	forbid(spec.Template != nil, at.Child("template"), has)
	forbid(spec.Rollback != nil, at.Child("rollback"), has)
	forbid(spec.ReleaseTo != nil, at.Child("releaseTo"), "is not for a train")
	forbid(spec.Strategy.Traffic != nil, strategy.Child("traffic"), has)
	forbid(spec.Strategy.MaxSurge != nil, strategy.Child("maxSurge"), has)
	forbid(spec.Strategy.MaxUnavailable != nil, strategy.Child("maxUnavailable"), has)
	forbid(spec.Strategy.PodReplacement != "", strategy.Child("podReplacement"), has)
	forbid(len(spec.Strategy.Order) > 0, strategy.Child("order"), has)
	forbid(spec.Strategy.PausePoints, strategy.Child("pausePoints"), has)
	return append(errs, validateMembers(spec.Members, at.Child("members"))...)
}

// maxMembers limits the entries of spec.members.
const maxMembers = 200

func validateMembers(members []v1alpha1.TrainMember, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(members) > maxMembers {
		errs = append(errs, field.TooMany(at, len(members), maxMembers))
	}
	names := map[string]bool{}
	for i, member := range members {
		switch {
		case member.Name == "":
			errs = append(errs, field.Required(at.Index(i).Child("name"), "names the release, or with a selector the group"))
		case names[member.Name]:
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), member.Name))
		}
		names[member.Name] = true
		for j, after := range member.After {
			if r := after.Reached; r != nil && r.Type == intstr.String && r.StrVal != v1alpha1.ReachedCompleted {
				errs = append(errs, field.Invalid(at.Index(i).Child("after").Index(j).Child("reached"), r.StrVal, "must be a step, from 1, or "+v1alpha1.ReachedCompleted))
			}
		}
	}
	return errs
}

// faultyRelease stands for a release that is invalid. Only its namespace and labels are used, and
// whether it is a train.
func faultyRelease(object map[string]any) *manifest {
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	m := &manifest{kind: releaseKind, namespace: namespace, labels: map[string]string{}, faulty: true}
	labels, _ := metadata["labels"].(map[string]any)
	for key, value := range labels {
		if text, is := value.(string); is {
			m.labels[key] = text
		}
	}
	spec, _ := object["spec"].(map[string]any)
	if _, is := spec["members"].([]any); is {
		m.train = &v1alpha1.BatchReleaseSpec{}
	}
	return m
}

func (m *manifest) isFaultyRelease() bool { return m.kind == releaseKind && m.faulty }

// lose takes note of a release that is not in the result: trains may select it.
func (p *pass) lose(namespace string, l located) {
	if l.train != nil {
		p.faultyTrains[namespace] = true
		return
	}
	p.lost[namespace] = append(p.lost[namespace], l)
}

// loseDropped takes note of the releases that were dropped from all.
func (p *pass) loseDropped(all, kept map[objectKey][]located) {
	for key, ls := range all {
		if kept[key] == nil {
			p.lose(key.namespace, ls[0])
		}
	}
	for _, ls := range p.lost {
		slices.SortFunc(ls, func(a, b located) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.at.line, b.at.line)) })
	}
}

// locateSteps finds the places of the steps and members of a BatchRelease.
func (m *manifest) locateSteps(find func(path string) position) {
	m.stepsAt = find(stepsPath)
	if m.train != nil {
		for i := range m.train.Members {
			m.membersAt = append(m.membersAt, find(fmt.Sprintf("spec.members[%d]", i)))
		}
	}
}

// stepsPath is where a BatchRelease has its steps.
const stepsPath = "spec.strategy.steps"

// trainKey finds a member's manifest with the steps of its train.
type trainKey struct{ member, train *manifest }

// board finds the members of all trains, and gives them the steps of their trains. It drops
// members that are wrong, and the trains that are.
func (p *pass) board(releases map[objectKey][]located) map[objectKey][]v1alpha1.MemberTemplate {
	p.trains = map[*manifest]string{}
	trains := map[objectKey][]v1alpha1.MemberTemplate{}
	at := platformOf(releases, p.lost)
	for _, key := range slices.SortedFunc(maps.Keys(releases), objectKey.compare) {
		if of := releases[key][0]; of.train != nil {
			trains[key] = p.membersOf(of, key, at)
			p.faultyTrains[key.namespace] = p.faultyTrains[key.namespace] || trains[key] == nil
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(trains), objectKey.compare) {
		for _, member := range trains[key] {
			at := objectKey{key.namespace, member.Name}
			if boarded := p.boarded(releases[at][0], releases[key][0]); boarded != nil {
				releases[at] = []located{*boarded}
			} else {
				trains[key] = nil
				delete(releases, at)
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(releases), objectKey.compare) {
		l := releases[key][0]
		if _, member := p.trains[l.manifest]; l.stepless && !member {
			if !p.faultyTrains[key.namespace] {
				p.fail(l.file, l.stepsAt, "spec.strategy.steps: Required value: at least one step, here or in a train that has the release in spec.members")
			}
			delete(releases, key)
		}
	}
	return trains
}

func (k objectKey) compare(other objectKey) int {
	return cmp.Or(strings.Compare(k.namespace, other.namespace), strings.Compare(k.name, other.name))
}

func hasLabels(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, is := labels[key]; !is || got != value {
			return false
		}
	}
	return true
}

// boarded returns a member with the steps of its train; nil if it has an error with them.
func (p *pass) boarded(member, train located) *located {
	key := trainKey{member.manifest, train.manifest}
	made := p.before.boarded[key]
	if made == nil {
		var problems []pathProblem
		if made, problems = withSteps(member.manifest, train.manifest.train.Strategy.Steps); problems != nil {
			for _, problem := range problems {
				p.fail(member.file, member.at, fmt.Sprintf("BatchRelease %s, with the steps of train %s: %s", member.name, train.name, problem.message))
			}
			return nil
		}
	}
	p.now.boarded[key] = made
	p.trains[made] = train.name
	member.manifest = made
	return &member
}

// ofTrain are the fields of a strategy that a train decides for its members.
var ofTrain = []string{"onFailure", "supersede"}

// withSteps returns a member's manifest with the steps of its train.
func withSteps(member *manifest, train []v1alpha1.Step) (*manifest, []pathProblem) {
	object := toMap(member.object)
	spec, _ := object["spec"].(map[string]any)
	strategy, _ := spec["strategy"].(map[string]any)
	if strategy == nil {
		strategy = map[string]any{}
	}
	steps, err := json.Marshal(memberSteps(train, strategy["traffic"] != nil))
	if err != nil {
		return nil, []pathProblem{{"spec.strategy", err.Error()}}
	}
	var list []any
	_ = utiljson.Unmarshal(steps, &list) // it was just encoded
	strategy["steps"], spec["strategy"] = list, strategy
	var overridden []string
	for _, key := range ofTrain {
		if strategy[key] != nil {
			overridden = append(overridden, "spec.strategy."+key)
			delete(strategy, key)
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, []pathProblem{{"spec", err.Error()}}
	}
	made, problems := parseRelease(data, object)
	if problems != nil {
		return nil, problems
	}
	made.overridden = overridden
	made.at, made.claims, made.sharing, made.stepsAt, made.generated = member.at, member.claims, member.sharing, member.stepsAt, member.generated
	made.configAt = member.configAt
	return made, nil
}

// makeTrains makes the trains whose members were made. Jobs are found in all that there are.
func (p *pass) makeTrains(
	trains map[objectKey][]v1alpha1.MemberTemplate, releases, found map[objectKey][]located, made map[objectKey]*Release,
) []*Release {
	var all []*Release
	for _, key := range slices.SortedFunc(maps.Keys(trains), objectKey.compare) {
		members, l := slices.Clone(trains[key]), releases[key][0]
		sound := len(members) > 0
		for i := range members {
			release := made[objectKey{key.namespace, members[i].Name}]
			if release == nil {
				p.fail(l.file, l.at, fmt.Sprintf("train %s: member %s has an error: until it is fixed, the train releases nothing", l.name, members[i].Name))
				sound = false
				continue
			}
			members[i].Template = release.TemplateDigest
		}
		if !sound {
			continue
		}
		digest, err := podtemplate.GivenMembers(members)
		if err != nil {
			p.fail(l.file, l.at, err.Error())
			continue
		}
		jobs, ok := p.findJobs(l, key.namespace, found)
		if !p.answerable(l) || !ok {
			continue
		}
		of := madeKey{release: l, namespace: key.namespace, members: digest, jobs: digestOfJobs(jobs)}
		all = append(all, p.makeWith(of, parts{jobs: jobs, members: members}))
	}
	return all
}
