package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// pull is a pull request, as the forge has it.
type pull struct {
	Number int64  `json:"number"`
	Body   string `json:"body"`
}

// table returns the members that a pull request lists, a line each.
func (p pull) table() []string {
	return slices.DeleteFunc(strings.Split(p.Body, "\n"), func(line string) bool { return !strings.HasPrefix(line, "| `") })
}

// onePull returns why the pull requests are not the one that a train promises: it lists each member
// with its image before and after.
func onePull(pulls []pull, casts []cast) (broken []string) {
	if len(pulls) != 1 {
		return []string{fmt.Sprintf("%d pull requests were opened, 1 was promised", len(pulls))}
	}
	for _, c := range casts {
		row := fmt.Sprintf("| `%s` | `%s` | `%s` |", c.name, c.images[0], c.images[1])
		if !slices.ContainsFunc(pulls[0].table(), func(line string) bool { return strings.HasPrefix(line, row) }) {
			broken = append(broken, fmt.Sprintf("pull request #%d does not list %s from %s to %s", pulls[0].Number, c.name, c.images[0], c.images[1]))
		}
	}
	return broken
}

// member holds the promises of a member of a train, and its watch log.
type member struct {
	name string
	claims
	records []record
}

// endsTogether returns which workloads were handed back before all members of the train ran their
// last versions.
func endsTogether(members []member) (broken []string) {
	type event struct {
		of int
		record
	}
	var all []event
	scenes, held, back := make([]*scene, len(members)), make([]bool, len(members)), make([]bool, len(members))
	for i, m := range members {
		scenes[i] = newScene()
		for _, r := range m.records {
			all = append(all, event{i, r})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.revision, b.revision) })
	for _, e := range all {
		scenes[e.of].apply(e.object, e.gone)
		if scenes[e.of].workload == nil {
			continue
		}
		was := held[e.of]
		if _, held[e.of] = scenes[e.of].workload.GetAnnotations()[v1alpha1.HoldAnnotation]; !was || held[e.of] {
			continue
		}
		back[e.of] = true
		for i, m := range members {
			if n := scenes[i].tallies()[m.last].available; n < m.replicas {
				broken = append(broken, fmt.Sprintf("%s was handed back at revision %d, when %s had %d of %d pods of %s",
					members[e.of].name, e.revision, m.name, n, m.replicas, m.last))
			}
		}
	}
	for i, m := range members {
		if !back[i] {
			broken = append(broken, fmt.Sprintf("%s was never held and handed back", m.name))
		}
	}
	return broken
}
