// Package lint finds errors in the releases of a repository, before the push.
//
//	files ─► spec.Read ─► what the controller will refuse ─┐
//	            │                                          ├─► Report ─► text, JSON, annotations
//	            └► releases ─► what can't work, and doubts ┘
//
// The rules of a manifest are those of package spec, in its words: what passes here is taken by the
// controller. Beyond that it looks for what would only come to light in the cluster, as far as
// files can tell.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Severity says what a finding means for a release.
type Severity string

// The severities.
const (
	// Error marks something that controller or API server refuse, or that can't succeed.
	Error Severity = "error"
	// Warning marks something that is accepted, and probably a mistake.
	Warning Severity = "warning"
	// Notice marks something that is left out without harm.
	Notice Severity = "notice"
)

// Finding is a problem at a place in a file.
type Finding struct {
	// File is its path from the root of the repository.
	File string `json:"file"`
	// Line and Column count from 1; 0 where none can be named.
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Doubt is the subject of a warning of Traffic, zero for all others.
	Doubt Doubt `json:"-"`
}

// Report is all that was found.
type Report struct {
	// Files is how many manifest files were read, Releases how many releases they make.
	Files, Releases int
	// Findings, sorted by file and place.
	Findings []Finding
	// Notices, likewise, are no mistakes: they say what is left out, and what may surprise.
	Notices []Finding
}

// Check reads what is below a folder of a repository as the controller would. Metrics are nil if no
// comparison is to be foreseen. An error means that nothing can be said: the folder is not there, a
// limit on the whole is exceeded, or the server of metrics does not answer.
func Check(files fs.FS, folder string, options spec.Options, metrics *Metrics) (*Report, error) {
	read, err := spec.NewReader(options).Read(files, folder)
	if err != nil {
		return nil, err
	}
	report := &Report{Files: read.Files, Releases: len(read.Releases)}
	_, frozen := spec.ReadFreeze(files)
	for _, problem := range slices.Concat(read.Errors, frozen) {
		report.add(Error, problem)
	}
	for _, warning := range read.Warnings {
		report.add(Warning, warning)
	}
	for _, notice := range read.Notices {
		report.add(Notice, notice)
	}
	others := othersOf(read)
	for _, release := range read.Releases {
		if err := report.review(files, release, others, metrics); err != nil {
			return nil, fmt.Errorf("review BatchRelease %s/%s: %w", release.Namespace, release.Name, err)
		}
	}
	if len(read.Releases) == 0 && len(read.Errors) == 0 {
		report.add(Warning, spec.Error{File: folder, Message: "there is no BatchRelease: nothing here is released" + ofHelm(read)})
	}
	report.sort()
	return report, nil
}

// ofHelm says that workloads come from charts, and what to do.
func ofHelm(read *spec.Result) string {
	if read.HelmReleases == 0 {
		return ""
	}
	return fmt.Sprintf(". The workloads come from %s, whose charts Sluice does not render: commit what they make, see docs/repositories.md#helm-charts",
		count(read.HelmReleases, "HelmRelease"))
}

// Merge adds what was found elsewhere.
func (r *Report) Merge(other *Report) {
	r.Files += other.Files
	r.Releases += other.Releases
	r.Findings = append(r.Findings, other.Findings...)
	r.Notices = append(r.Notices, other.Notices...)
	r.sort()
}

// Keep drops the findings of all files but those that are wanted.
func (r *Report) Keep(wanted func(file string) bool) {
	unwanted := func(f Finding) bool { return !wanted(f.File) }
	r.Findings, r.Notices = slices.DeleteFunc(r.Findings, unwanted), slices.DeleteFunc(r.Notices, unwanted)
}

// Count returns how many findings of a severity there are.
func (r *Report) Count(severity Severity) int {
	count := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			count++
		}
	}
	return count
}

// Err sums up what has to be fixed, nil if it is nothing; strict counts warnings, too.
func (r *Report) Err(strict bool) error {
	if r.Count(Error) == 0 && (!strict || r.Count(Warning) == 0) {
		return nil
	}
	return errors.New(r.found())
}

func (r *Report) add(severity Severity, problem spec.Error) {
	if severity == Notice {
		r.Notices = append(r.Notices, findingOf(severity, problem))
		return
	}
	r.Findings = append(r.Findings, findingOf(severity, problem))
}

func findingOf(severity Severity, problem spec.Error) Finding {
	return Finding{File: problem.File, Line: problem.Line, Column: problem.Column, Severity: severity, Message: problem.Message}
}

func (r *Report) sort() {
	r.Findings, r.Notices = inOrder(r.Findings), inOrder(r.Notices)
}

func inOrder(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}
