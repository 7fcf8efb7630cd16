package main

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// palette gives each version a colour of its own, in the order of their arrival.
var palette = []string{"34", "32", "33", "35", "36"}

// styler colours text or leaves it as it is.
type styler func(code, text string) string

// drawPanel shows a scene: where the release stands, its pods by version, what it waits for.
func drawPanel(s *scene, note string, style styler) []string {
	if s.workload == nil {
		return nil
	}
	lines := []string{""}
	if s.release != nil {
		lines = append(lines, "  "+style("1", s.release.Name)+"  "+headline(s.release), "  "+ruler(s.release, style))
	}
	lines = append(lines, bars(s, style)...)
	total := s.total()
	lines = append(lines, fmt.Sprintf("  %d available, %d starting, %d ending", total.available, total.starting, total.ending))
	if s.release != nil && s.release.Status.Phase != "" {
		lines = append(lines, "  "+style("2", s.release.Status.Message))
	}
	return append(lines, "  "+note)
}

// drawScene shows a workload among others: where its release stands, and its pods by version.
func drawScene(s *scene, style styler) []string {
	if s.workload == nil || s.release == nil {
		return nil
	}
	lines := []string{"", "  " + style("1", kindOf(s.workload)+" "+s.release.Name) + "  " + headline(s.release), "  " + ruler(s.release, style)}
	return append(lines, bars(s, style)...)
}

// headline says in a few words where a release stands.
func headline(release *v1alpha1.BatchRelease) string {
	if release == nil || release.Status.Phase == "" {
		return "nothing released yet"
	}
	status := release.Status
	return fmt.Sprintf("%s, batch %s, %s", status.Phase, status.Batch, status.CurrentStepState)
}

// ruler shows the steps: done, current and to come.
func ruler(release *v1alpha1.BatchRelease, style styler) string {
	var marks []string
	for i, step := range release.Spec.Strategy.Steps {
		marks = append(marks, mark(release.Status, i, style)+" "+step.Replicas.String())
	}
	return strings.Join(marks, style("2", " ── "))
}

func mark(status v1alpha1.BatchReleaseStatus, step int, style styler) string {
	current := int(status.CurrentStepIndex)
	switch {
	case status.Phase == v1alpha1.PhaseCompleted || step < current:
		return style("32", "●")
	case step == current && status.Phase != "":
		return style("33", "◉")
	default:
		return style("2", "○")
	}
}

// bars has a line for each version: a block for each pod, and how many are there.
func bars(s *scene, style styler) []string {
	counts := s.tallies()
	var lines []string
	for i, image := range s.images {
		count := counts[image]
		if count == (tally{}) {
			continue
		}
		blocks := strings.Repeat("█", count.available) + strings.Repeat("▒", count.starting) + strings.Repeat("░", count.ending)
		width := count.running() + count.ending
		pad := strings.Repeat(" ", max(0, 16-width))
		lines = append(lines, fmt.Sprintf("  %-14s %s%s %d", image, style(palette[i%len(palette)], blocks), pad, count.running()))
	}
	return lines
}

// versions returns how many pods of each version run, in a line.
func versions(s *scene) string {
	counts := s.tallies()
	var parts []string
	for _, image := range s.images {
		if running := counts[image].running(); running > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", image, running))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
