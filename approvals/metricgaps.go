package approvals

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/counters"
)

// noData returns an error if the counters have no pod of one of the versions.
func noData(counts []map[string]judge.Count, pods []counters.Pod, young time.Duration) error {
	has := func(isNew bool) (some, counted bool) {
		for _, pod := range pods {
			if pod.New == isNew {
				some = true
				for _, of := range counts {
					if _, is := of[pod.Name]; is {
						counted = true
					}
				}
			}
		}
		return some, counted
	}
	some, counted := has(false)
	switch {
	case !some:
		return readingError{v1alpha1.TroubleNoOldPods, "no pod of the old version serves: there is nothing to compare with"}
	case !counted:
		return readingError{v1alpha1.TroubleNoData, "the answer has no series of a pod of the old version: correct the query, or podLabel"}
	}
	some, counted = has(true)
	switch {
	case !some:
		return readingError{v1alpha1.TroubleNoNewPods, notReady("new", young)}
	case !counted:
		return readingError{v1alpha1.TroubleNoData, "the answer has no series of a pod of the new version yet"}
	}
	return nil
}

// notReady says that a version has no pod that counts. A version without pods has the same message:
// a status says the trouble of a minute ago, and by then it may have some.
func notReady(version string, young time.Duration) string {
	return fmt.Sprintf("no pod of the %s version has been ready for %s yet", version, young)
}

// noIncrements returns an error if no pod of one of the versions can have an increment, by counters
// that have some pod of each.
func noIncrements(counts map[string]judge.Count, at time.Time, pods []counters.Pod, young time.Duration, back []string) error {
	for _, version := range []struct {
		name    string
		isNew   bool
		trouble v1alpha1.MetricTrouble
	}{{"old", false, v1alpha1.TroubleNoOldPods}, {"new", true, v1alpha1.TroubleNoNewPods}} {
		var grown []string
		for _, pod := range pods {
			if _, has := counts[pod.Name]; has && pod.New == version.isNew && at.Sub(pod.Since) >= young {
				grown = append(grown, pod.Name)
			}
		}
		isBack := func(name string) bool { return slices.Contains(back, name) }
		switch {
		case len(grown) == 0:
			return readingError{version.trouble, notReady(version.name, young)}
		case !slices.ContainsFunc(grown, func(name string) bool { return !isBack(name) }):
			return readingError{v1alpha1.TroubleBadAnswer, fmt.Sprintf(
				"the counters of all pods of the %s version, such as %s, fall, contradict each other or are no numbers", version.name, grown[0])}
		}
	}
	return nil
}
