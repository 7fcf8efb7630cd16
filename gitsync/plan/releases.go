package plan

import (
	"encoding/json"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/subset"
)

// Problem says why a release differs from Git, or soon will: Contested, Follows, WorkloadChanged,
// Rewritten, ClaimsChanged, FixedChanged or NothingApproved, and nothing else. An answer of the API
// server to a write is none of them.
//
//sumtype:decl
type Problem interface {
	// Of returns the name of the release.
	Of() Key
	problem()
}

type (
	// Contested says that another source writes the release: the two would undo each other.
	Contested struct {
		Release *spec.Release
		By      Key
	}
	// Follows says that a release of the name follows its workload, which gives it its template.
	Follows struct{ Release *spec.Release }
	// WorkloadChanged says that the release of the cluster is of another workload, which can't be
	// changed. Its workload is not created either: it would run in full what may wait at a gate.
	WorkloadChanged struct {
		Release *spec.Release
		Was     v1alpha1.WorkloadReference
	}
	// Rewritten says that the API server keeps another template than was applied. It is applied again
	// with each pass, which changes nothing unless it is rewritten in another way.
	Rewritten struct{ Release *spec.Release }
	// ClaimsChanged says that volume claim templates in Git are others than those of the StatefulSet,
	// which nobody can change. The release is not written: with it the change would pass for released.
	ClaimsChanged struct {
		Release *spec.Release
		// Names of the volume claim templates, sorted.
		Names []string
	}
	// FixedChanged says that other fields that never change are not those of the workload. The release
	// is not written either.
	FixedChanged struct {
		Release *spec.Release
		Fields  []string
	}
	// NothingApproved says that a workload was deleted, and that the template to create it with is not
	// kept. The release is written all the same.
	NothingApproved struct {
		Release *spec.Release
		// Revision of that template; empty if no version was ever released.
		Revision string
	}
)

func (Contested) problem()       {}
func (Follows) problem()         {}
func (WorkloadChanged) problem() {}
func (Rewritten) problem()       {}
func (ClaimsChanged) problem()   {}
func (FixedChanged) problem()    {}
func (NothingApproved) problem() {}

// Of returns the name of the release.
func (p Contested) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p Follows) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p WorkloadChanged) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p Rewritten) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p ClaimsChanged) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p FixedChanged) Of() Key { return KeyOf(p.Release) }

// Of returns the name of the release.
func (p NothingApproved) Of() Key { return KeyOf(p.Release) }

// releases brings what Git has into the cluster.
func releases(desired Desired, observed Observed, remembered Remembered) Plan {
	next := Plan{Settled: map[Key]Applied{}}
	for _, release := range desired.Content.Releases {
		desired := desired
		if earlier := adopting(desired, observed, release); earlier != nil {
			next.Adopts, release, desired.Origin = true, earlier, desired.Before
		}
		write, problem := stepTo(desired, observed, remembered, release)
		switch {
		case problem != nil:
			next.Problems = append(next.Problems, problem)
		case write != nil:
			if _, sent := remembered.Sent[write.Sent()]; !sent {
				next.Writes = append(next.Writes, write)
			}
		default:
			if live := observed.Releases[KeyOf(release)]; live != nil && !known(desired, remembered, live, release) {
				next.Settled[KeyOf(release)] = applied(desired, live, release)
			}
		}
	}
	return next
}

// stepTo returns the next write on the way to a release as Git asks for it, or what is in the way;
// neither if it is there. One that was sent before in the pass is in the way of those after it.
func stepTo(desired Desired, observed Observed, remembered Remembered, release *spec.Release) (Write, Problem) {
	key := KeyOf(release)
	live := observed.Releases[key]
	if by, contested := observed.Writers[key]; contested {
		return nil, Contested{release, by}
	}
	if live != nil && live.Spec.Follow != "" {
		return nil, Follows{release}
	}
	if live != nil && live.Spec.WorkloadRef != release.WorkloadRef() {
		return nil, WorkloadChanged{release, live.Spec.WorkloadRef}
	}
	if names := observed.Claims[WorkloadOf(release)]; len(names) > 0 {
		return nil, ClaimsChanged{release, names}
	}
	if fields := observed.Fixed[WorkloadOf(release)]; len(fields) > 0 {
		return nil, FixedChanged{release, fields}
	}
	lacksWorkload := release.HasWorkload() && !observed.Workloads[WorkloadOf(release)]
	if live != nil && !lacksWorkload && known(desired, remembered, live, release) {
		return nil, nil
	}
	var lost Problem
	if lacksWorkload && !frozenNow(desired, observed, release) {
		var create Write
		if create, lost = restore(observed, release, live); lost == nil {
			return afterConfig(remembered, release, live, create), nil
		}
	}
	apply := applyOf(desired, remembered, release, live)
	fate, sent := remembered.Sent[apply.Sent()]
	switch shared, isShared := observed.Shared[key]; {
	case live == nil, sent && fate == Failed, !sent && !asGitAsks(desired, live, release):
		apply.Edited = edited(live, release, remembered.Applied[key])
		return afterConfig(remembered, release, live, apply), nil
	case !hasTemplate(live, release):
		return nil, Rewritten{release}
	case isShared:
		return TakeOwnership{release, shared}, nil
	default:
		return nil, lost
	}
}

// afterConfig returns a write of a template, or the one that makes the copies which it names until
// that succeeds: no pod may come before them.
func afterConfig(remembered Remembered, release *spec.Release, live *v1alpha1.BatchRelease, write Write) Write {
	config := CopyConfig{Release: release, Live: live}
	if fate, sent := remembered.Sent[config.Sent()]; len(release.Copies) == 0 || sent && fate == Took {
		return write
	}
	return config
}

func applyOf(desired Desired, remembered Remembered, release *spec.Release, live *v1alpha1.BatchRelease) ApplyRelease {
	apply := ApplyRelease{
		Release: release, Live: live, Label: desired.Source.LabelIn(release.Namespace),
		Freeze: freezeOf(desired, release.Namespace, release.Object().GetLabels(), live),
	}
	if apply.Origin = lastOrigin(desired, remembered, release); live != nil {
		apply.Origin = originOf(desired, live, release)
	}
	return apply
}

// known reports, without comparing specs, whether a release is as it was when it was as Git asks.
// An edit of the spec changes the generation; one of the metadata does not.
func known(desired Desired, remembered Remembered, live *v1alpha1.BatchRelease, release *spec.Release) bool {
	last, found := remembered.Applied[KeyOf(release)]
	return found && last.Digest == release.Digest && last.UID == live.UID && last.Generation == live.Generation &&
		recorded(desired, live, release) && contains(live.Labels, last.Labels) && contains(live.Annotations, last.Annotations)
}

func applied(desired Desired, live *v1alpha1.BatchRelease, release *spec.Release) Applied {
	object := release.Object()
	return Applied{
		UID: live.UID, Generation: live.Generation, Digest: release.Digest,
		Template: release.TemplateDigest, Origin: originOf(desired, live, release),
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
	}
}

// asGitAsks reports whether a release was applied last and nobody has changed what Git gives.
func asGitAsks(desired Desired, live *v1alpha1.BatchRelease, release *spec.Release) bool {
	return recorded(desired, live, release) && holds(live, release)
}

// recorded reports whether the metadata of a release names its source and what was applied last.
func recorded(desired Desired, live *v1alpha1.BatchRelease, release *spec.Release) bool {
	return live.Annotations[v1alpha1.AppliedDigestAnnotation] == release.Digest &&
		live.Annotations[v1alpha1.GitTemplateAnnotation] == release.TemplateDigest && Ours(desired.Source, live)
}

// contains reports whether labels or annotations include the given ones.
func contains(all, given map[string]string) bool {
	for key, value := range given {
		if got, found := all[key]; !found || got != value {
			return false
		}
	}
	return true
}

// holds reports whether a release has all that its manifest says, whatever else
// defaults, and people, have added. Of the template it has nothing else.
func holds(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	var wanted v1alpha1.BatchRelease
	data, err := json.Marshal(release.Object().Object)
	if err != nil || json.Unmarshal(data, &wanted) != nil {
		return false
	}
	return hasTemplate(live, release) && subset.Of(toValue(wanted.Spec), toValue(live.Spec)) &&
		subset.Of(toValue(wanted.Labels), toValue(live.Labels)) && subset.Of(toValue(wanted.Annotations), toValue(live.Annotations))
}

func hasTemplate(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	given, err := podtemplate.GivenOf(&live.Spec)
	return err == nil && given != "" && given == release.TemplateDigest
}

func toValue(typed any) any {
	data, err := json.Marshal(typed)
	if err != nil {
		return err
	}
	var value any
	_ = json.Unmarshal(data, &value) // it was just encoded
	return value
}

// originOf returns the commit that brought the release's template: the one known so far
// unless this one changes the template.
func originOf(desired Desired, live *v1alpha1.BatchRelease, release *spec.Release) Origin {
	last := Origin{
		Commit:  live.Annotations[v1alpha1.CommitAnnotation],
		Author:  live.Annotations[v1alpha1.AuthorAnnotation],
		Subject: live.Annotations[v1alpha1.SubjectAnnotation],
		Time:    live.Annotations[v1alpha1.CommitTimeAnnotation],

		Reference: live.Annotations[v1alpha1.ReferenceAnnotation],
	}
	recorded := live.Annotations[v1alpha1.GitTemplateAnnotation]
	if last.Commit == "" || recorded != release.TemplateDigest && !(recorded == "" && hasTemplate(live, release)) {
		return desired.Origin
	}
	return last
}

// lastOrigin returns the commit that brought the template of a missing release. The release may
// have been deleted, which does not make the template newer.
func lastOrigin(desired Desired, remembered Remembered, release *spec.Release) Origin {
	if last, found := remembered.Applied[KeyOf(release)]; found && last.Template == release.TemplateDigest {
		return last.Origin
	}
	return desired.Origin
}
