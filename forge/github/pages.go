package github

import (
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge/wire"
)

const (
	pageSize = 100
	// maxPages is GitHub's limit on pages of a pull request's files, the longest list that we read.
	maxPages = 30
	// maxFiles and maxCommits are GitHub's limits on the lists of a pull request.
	maxFiles   = maxPages * pageSize
	maxCommits = 250
	// maxList is how many bytes all pages of a list may have: far more than 3,000 files of a pull
	// request without their text.
	maxList = 16 << 20
)

// page reads one page of a list.
type page[T any] func(github.ListOptions) ([]T, *github.Response, error)

// walk shows a list page by page, until one is enough or the list ends. A list that is too long to
// be walked will not get shorter.
func walk[T any](read page[T], enough func([]T) bool) error {
	size, seen := int64(0), 0
	for number := 1; number <= maxPages; number++ {
		some, resp, err := read(github.ListOptions{Page: number, PerPage: pageSize})
		if err != nil {
			return err
		}
		if size += resp.ContentLength; size > maxList {
			return wire.Invalid("the list is larger than %d bytes", maxList)
		}
		if seen += len(some); seen > maxFiles {
			return wire.Invalid("the list has more than %d items", maxFiles)
		}
		// A full page may be followed by another even if the answer doesn't say so: one that
		// is remembered names no page that came into being since.
		if enough(some) || resp.NextPage == 0 && len(some) < pageSize {
			return nil
		}
	}
	return wire.Invalid("the list has more than %d pages", maxPages)
}

// all reads a list whole, or fails.
func all[T any](read page[T]) ([]T, error) {
	var items []T
	err := walk(read, func(some []T) bool {
		items = append(items, some...)
		return false
	})
	return items, err
}

// allOf reads a list that has a certain number of items, of which the forge shows no more than a
// limit.
func allOf[T any](want, limit int, read page[T]) ([]T, error) {
	if want > limit {
		return nil, wire.Invalid("the list has %d items, and no more than %d are shown", want, limit)
	}
	items, err := all(read)
	if err != nil {
		return nil, err
	}
	return items, counted(len(items), want)
}

// allCounted reads a list of which nothing may be overlooked, and that comes without a count.
func allCounted[T any](read page[T]) ([]T, error) {
	items, err := all(read)
	if err != nil {
		return nil, err
	}
	return items, countedAll(len(items), read)
}

// countedAll fails where a list is longer than what was got of it. In pages of one item the number
// of the last page is the count.
func countedAll[T any](got int, read page[T]) error {
	first, resp, err := read(github.ListOptions{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	return counted(got, max(resp.LastPage, len(first)))
}

// counted fails where some of a list is missing.
func counted(got, want int) error {
	if got != want {
		return wire.Distrusted("the list has %d items, and not the %d that it should have", got, want)
	}
	return nil
}
