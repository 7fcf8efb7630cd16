package preview

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// findMistakes adds what is wrong between the files after the change: releases, and the routes,
// Services and workloads that they name. Not everybody runs lint. Of what is only probably wrong it
// leaves out what the change has nothing to do with.
func (p *Preview) findMistakes(before, after *State) error {
	now, earlier, was := lint.TrafficOf(after.Files, after.Read), lint.TrafficOf(before.Files, before.Read), byKey(before)
	for _, change := range p.Releases {
		found, err := now.Check(change.release)
		if err != nil {
			return fmt.Errorf("look for mistakes of BatchRelease %s: %w", change.Key(), err)
		}
		var known []lint.Doubt
		if old := was[keyOf(change.release)]; old != nil && change.Kind == Unchanged {
			if known, err = doubtsOf(earlier, old); err != nil {
				return err
			}
		}
		for _, finding := range found {
			switch text := placed(finding); {
			case finding.Severity == lint.Error:
				p.Errors = append(p.Errors, text)
			case !slices.Contains(known, finding.Doubt):
				p.Warnings = append(p.Warnings, text)
			}
		}
	}
	return nil
}

// doubtsOf returns those that a release raised before the change.
func doubtsOf(earlier *lint.Traffic, release *spec.Release) ([]lint.Doubt, error) {
	found, err := earlier.Check(release)
	if err != nil {
		return nil, fmt.Errorf("look for mistakes of BatchRelease %s/%s: %w", release.Namespace, release.Name, err)
	}
	var doubts []lint.Doubt
	for _, finding := range found {
		if finding.Severity == lint.Warning {
			doubts = append(doubts, finding.Doubt)
		}
	}
	return doubts, nil
}

// placed returns a finding with its place, as errors have it.
func placed(f lint.Finding) string {
	return spec.Error{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message}.Error()
}
