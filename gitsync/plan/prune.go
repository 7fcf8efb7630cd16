package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Held says why releases that Git does not have any more are kept.
type Held struct {
	Doubt Doubt
	// Gone is how many releases Git lacks, Left how many it has.
	Gone, Left int
}

// Doubt is a reason not to delete. What looks like a mistake is taken for one: releases may be missing only because
// their file is broken, or the folder was moved or emptied.
type Doubt int

const (
	// FilesWrong says that the releases may be in files that have errors.
	FilesWrong Doubt = iota
	// NothingLeft says that Git has no release any more.
	NothingLeft
	// MoreGoThanStay says what it is called.
	MoreGoThanStay
)

// prune deletes the source's releases that Git does not have any more, if the source asks for that and there is no doubt.
func prune(next *Plan, desired Desired, observed Observed, remembered Remembered) {
	gone := goneFrom(desired, observed)
	next.Vanished = vanished(gone, desired.Content.Hollow)
	if !desired.Source.Spec.Prune || len(gone) == 0 {
		return
	}
	errors := len(desired.Content.Errors) + len(next.Vanished)
	if next.Held = doubt(len(gone), len(desired.Content.Releases), errors); next.Held != nil {
		return
	}
	for _, release := range gone {
		write := DeleteRelease{release}
		if _, sent := remembered.Sent[write.Sent()]; !sent {
			next.Writes = append(next.Writes, write)
		}
	}
}

// goneFrom are the releases of the source that are in the cluster and not in Git, by name.
func goneFrom(desired Desired, observed Observed) []*v1alpha1.BatchRelease {
	wanted := map[Key]bool{}
	for _, release := range desired.Content.Releases {
		wanted[KeyOf(release)] = true
	}
	var gone []*v1alpha1.BatchRelease
	for _, key := range sorted(observed.Releases) {
		live := observed.Releases[key]
		if !wanted[key] && live.DeletionTimestamp.IsZero() && Ours(desired.Source, live) {
			gone = append(gone, live)
		}
	}
	return gone
}

// vanished are the releases that are missing from files that are there and hold something else than objects: nobody
// takes a release out so. A file that is deleted, or that has other objects only, is how it is done.
func vanished(gone []*v1alpha1.BatchRelease, hollow map[string]spec.Error) []spec.Error {
	var errors []spec.Error
	for _, release := range gone {
		found, is := hollow[release.Annotations[v1alpha1.FileAnnotation]]
		if !is {
			continue
		}
		found.Message = fmt.Sprintf("BatchRelease %s was in this file, and is kept: %s; put it back, or delete the file to take the release out",
			release.Name, found.Message)
		errors = append(errors, found)
	}
	return errors
}

// doubt is the reason not to delete; nil if there is none.
func doubt(gone, left, errors int) *Held {
	switch {
	case errors > 0:
		return &Held{FilesWrong, gone, left}
	case left == 0:
		return &Held{NothingLeft, gone, left}
	case gone > left:
		return &Held{MoreGoThanStay, gone, left}
	}
	return nil
}
