package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Held says why releases that Git does not have any more are kept.
type Held struct {
	Doubt Doubt
	// Gone is how many releases Git lacks, Left how many it has.
	Gone, Left int
}

// Doubt is a reason not to delete: releases may be missing only because their file is broken, or
// the folder was moved or emptied.
type Doubt int

const (
	// FilesWrong says that the releases may be in files that have errors.
	FilesWrong Doubt = iota
	// NothingLeft says that Git has no release any more.
	NothingLeft
	// MoreGoThanStay says what it is called.
	MoreGoThanStay
)

// prune deletes the source's releases that Git does not have any more, if the source asks for that
// and there is no doubt. A file that is wrong keeps the releases that it may hold, and no other.
func prune(next *Plan, desired Desired, observed Observed, remembered Remembered) {
	gone := goneFrom(desired, observed)
	var certain []*v1alpha1.BatchRelease
	for _, release := range gone {
		missed, is := desired.Content.Missing(release.Name, release.Annotations[v1alpha1.FileAnnotation], release.Annotations[v1alpha1.KustomizationAnnotation])
		if is {
			next.Vanished = append(next.Vanished, missed)
		}
		if !is && !mayBeIn(release, desired.Content.Doubts) {
			certain = append(certain, release)
		}
	}
	if !desired.Source.Spec.Prune {
		for _, release := range certain {
			next.Left = append(next.Left, keyOf(release))
		}
		return
	}
	if len(gone) == 0 {
		return
	}
	left := len(desired.Content.Releases)
	if next.Held = doubt(len(gone), left, len(gone)-len(certain)); next.Held != nil && next.Held.Doubt != FilesWrong {
		return
	}
	for _, release := range certain {
		write := DeleteRelease{release}
		if _, sent := remembered.Sent[write.Sent()]; !sent {
			next.Writes = append(next.Writes, write)
		}
	}
}

// mayBeIn reports whether a file that is wrong may hold a release, or built it before.
func mayBeIn(release *v1alpha1.BatchRelease, doubts []spec.Doubt) bool {
	kustomization := release.Annotations[v1alpha1.KustomizationAnnotation]
	return slices.ContainsFunc(doubts, func(d spec.Doubt) bool {
		return d.File == kustomization && kustomization != "" || d.MayHold(release.Name)
	})
}

// goneFrom returns the releases of the source that are in the cluster and not in Git, by name. One
// that follows its workload was never there.
func goneFrom(desired Desired, observed Observed) []*v1alpha1.BatchRelease {
	wanted := map[Key]bool{}
	for _, release := range desired.Content.Releases {
		wanted[KeyOf(release)] = true
	}
	var gone []*v1alpha1.BatchRelease
	for _, key := range sorted(observed.Releases) {
		live := observed.Releases[key]
		if !wanted[key] && live.DeletionTimestamp.IsZero() && live.Spec.Follow == "" && Ours(desired.Source, live) {
			gone = append(gone, live)
		}
	}
	return gone
}

// doubt returns the reason not to delete; nil if there is none. Of the releases that are gone, some
// may be in files that are wrong: these are kept, and the others go unless there is another doubt.
func doubt(gone, left, doubtful int) *Held {
	switch {
	case doubtful == gone && gone > 0:
		return &Held{FilesWrong, gone, left}
	case left == 0:
		return &Held{NothingLeft, gone, left}
	case gone > left:
		return &Held{MoreGoThanStay, gone, left}
	case doubtful > 0:
		return &Held{FilesWrong, doubtful, left}
	}
	return nil
}
