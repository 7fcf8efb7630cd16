package sim

import "strings"

// as is a setup of another kind of workload, of which so many pods may be unavailable.
func (s Setup) as(kind string, unavailable int32) Setup {
	s.Kind = kind
	return s.limits(0, unavailable)
}

// ordered has a StatefulSet make its pods one after the other.
func (s Setup) ordered() Setup {
	s.Ordered = true
	return s
}

// graceful has pods take time to go.
func (s Setup) graceful() Setup {
	s.Graceful = true
	return s
}

// kindStories are those of a StatefulSet and a DaemonSet.
func kindStories() map[string]story {
	rollback := Event{Kind: Rollback, Text: "true"}
	three := func(kind string) Setup { return ten("1", "50%", "100%").as(kind, 3) }
	all := map[string]story{
		"statefulset-ordered":     {setup: three(StatefulSet).ordered().graceful()},
		"statefulset-one-by-one":  {setup: ten("1 none", "50% none", "100%").of(4).as(StatefulSet, 1).ordered()},
		"statefulset-loss":        {setup: three(StatefulSet), twists: []twist{{atStep(1), Event{Kind: PodLost, Text: "v2"}}, {atOnce, Event{Kind: PodLost, Text: "v1"}}}},
		"statefulset-rolled-back": {setup: three(StatefulSet).ordered().turning(), sick: "v2", twists: []twist{{failing, Event{Kind: Elapse}}}},
	}
	for _, kind := range kindsWithPlaces() {
		prefix := strings.ToLower(kind) + "-"
		for name, s := range map[string]story{
			"steps":           {setup: three(kind)},
			"no-gates":        {setup: ten("25% none", "50% none", "100%").as(kind, 3)},
			"v1-v2-v3":        {setup: three(kind), twists: []twist{{atStep(1), Event{Kind: Give, Text: "v3"}}}},
			"rollback-midway": {setup: three(kind), twists: []twist{{atStep(1), rollback}}},
			"rollback-after":  {setup: ten("1", "100%").as(kind, 3), twists: []twist{{completed, rollback}}},
			"fix-on-the-way-back": {setup: ten("1", "100%").as(kind, 3), twists: []twist{
				{completed, rollback}, {halfBack, Event{Kind: Give, Text: "v3"}}, {atStep(0), Event{Kind: PodLost, Text: "v1"}}, {atOnce, Event{Kind: Scale, N: 12}},
			}},
			"scaling":        {setup: ten("30%", "100%").as(kind, 3), twists: []twist{{held, Event{Kind: Scale, N: 15}}, {atStep(0), Event{Kind: Scale, N: 6}}}},
			"deadline":       {setup: three(kind), sick: "v2", twists: []twist{{failing, Event{Kind: Elapse}}}},
			"deleted-midway": {setup: three(kind), twists: []twist{{atStep(0), Event{Kind: DeleteRelease}}}},
			"loosened":       {setup: three(kind), twists: []twist{{atStep(0), Event{Kind: Unpause}}}},
			"overwritten": {setup: three(kind), twists: []twist{
				{atStep(0), Event{Kind: Unpause, Text: "v9"}}, {atOnce, Event{Kind: PodLost, Text: "v1"}}, {atOnce, Event{Kind: SyncWorkload}},
			}},
			"broken-stable": {setup: three(kind), sick: "v1", failing: 4},
			"just-created":  {setup: ten("30%", "100%").as(kind, 3).born(), twists: []twist{{atOnce, Event{Kind: Pass}}, {atOnce, Event{Kind: SyncWorkloadLate, N: 1}}}},
			"back-by-jump":  {setup: three(kind).back(), twists: []twist{{atStep(1), Event{Kind: Jump}}}},
			"rejected":      {setup: ten("1", "50% manual-", "100%").as(kind, 3), twists: []twist{{atStep(1), Event{Kind: Reject}}}},
		} {
			all[prefix+name] = s
		}
	}
	return all
}
