package sim

import (
	"testing"
	"fmt"
	"os"
	"strconv"
	"runtime/debug"
	"time"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func fr(o ...Object) (out []Event) { for _, x := range o { out = append(out, Event{Kind: Freeze, Text: string(x)}) }; return }

var families = map[string]struct{ offers []Event; budget map[Kind]uint8; prep func(*State) }{
	"stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects, GateObjects), Event{Kind: Restart})},
	"scale": {offers: []Event{{Kind: Scale, N: 0}, {Kind: Scale, N: 1}, {Kind: Scale, N: 2}, {Kind: Scale, N: 3}, {Kind: Scale, N: 4}}},
	"scale2": {offers: []Event{{Kind: Scale, N: 0}, {Kind: Scale, N: 2}, {Kind: Scale, N: 3}}, budget: map[Kind]uint8{Scale: 2}},
	"scale-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Scale, N: 0}, Event{Kind: Scale, N: 2}, Event{Kind: Scale, N: 4})},
	"scale-dies": {offers: []Event{{Kind: Scale, N: 0}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}, {Kind: PassDies}}},
	"rollback": {offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: PodFails, Text:"v2"}}},
	"rollback-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Rollback, Text: "true"})},
	"rollback-restart": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Rollback, Text: "true"}, Event{Kind: Restart})},
	"rollback-dies": {offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: PassDies}}},
	"rollback-scale": {offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: Scale, N: 0}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}}},
	"v3": {offers: []Event{{Kind: Give, Text: "v3"}}},
	"v3-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2", "v3"), Event{Kind: Give, Text: "v3"})},
	"v3-scale": {offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}}},
	"v3-dies": {offers: []Event{{Kind: Give, Text: "v3"}, {Kind: PassDies}}},
	"revert": {offers: []Event{{Kind: Give, Text: "v1"}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}}},
	"dies": {offers: []Event{{Kind: PassDies}}, budget: map[Kind]uint8{PassDies: 2}},
	"dies-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects), Event{Kind: PassDies})},
	"pods": {offers: []Event{{Kind: PodFails, Text: "v1"}, {Kind: PodFails, Text: "v2"}, {Kind: PodLost, Text: "v1"}, {Kind: PodLost, Text: "v2"}}},
	"drift": {offers: []Event{{Kind: Unpause}, {Kind: EditTemplate, Text: "v9"}, {Kind: EditTemplate, Text: "v1"}, {Kind: StripHold}}, budget: map[Kind]uint8{EditTemplate: 1}},
	"deleted": {offers: []Event{{Kind: DeleteRelease}, {Kind: PassDies}}},
	"deleted-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: DeleteRelease}, Event{Kind: Restart})},
	"recreated": {offers: []Event{{Kind: DeleteWorkload}, {Kind: CreateWorkload, Text: "v1"}, {Kind: CreateWorkload, Text: "v2"}, {Kind: Rollback, Text:"true"}}},
	"races": {offers: []Event{{Kind: PassRaces}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}, {Kind: Touch, Text: "v2"}}},
	"races2": {offers: []Event{{Kind: PassRaces}, {Kind: Rollback, Text: "true"}, {Kind: Give, Text: "v3"}}},
	"after": {offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: Scale, N: 2}, {Kind: Scale, N: 4}}, prep: finish},
	"after-stale": {offers: append(fr(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Rollback, Text: "true"}, Event{Kind: Restart}), prep: finish},
	"deadline": {offers: []Event{{Kind: Elapse}, {Kind: Rollback, Text: "true"}, {Kind: Scale, N:2}}, prep: func(s *State) { s.Sick = "v2" }},
	"confirms": {offers: []Event{{Kind: Confirm}, {Kind: Rollback, Text: "true"}}, budget: map[Kind]uint8{Confirm: 4}},
}

func finish(s *State) {
	for i := 0; i < 1000; i++ {
		n, _ := Calm(s)
		if n == nil { return }
		*s = *n
	}
	panic("no end")
}

func TestScratch(t *testing.T) {
	debug.SetGCPercent(400)
	only := os.Getenv("FAMILY")
	for name, f := range families {
	if only != "" && name != only { continue }
	total, begin, faults := 0, time.Now(), 0
	for _, r := range sizes() {
	for s := range int32(3) { for u := range int32(3) {
		st := NewState(Setup{Replicas: r, Steps: Steps("1","50% none","100%"), MaxSurge: intstr.FromInt32(s), MaxUnavailable: intstr.FromInt32(u), HistoryLimit: 2, Deadline: 100000*time.Second})
		st.Give("v2")
		if f.prep != nil { f.prep(st) }
		out := Explore(Exploration{Start: st, Offers: f.offers, Budget: f.budget, Limit: limit()})
		total += out.States
		if out.Fault != "" {
			faults++
			if faults < 2 { fmt.Printf("%s R%d S%d U%d %d states %s\n", name, r, s, u, out.States, out.Fault) }
		}
		if os.Getenv("SIZES") != "" { fmt.Printf("%s R%d S%d U%d %d\n", name, r, s, u, out.States) }
		if out.Cut { fmt.Println(name, r,s,u,"cut") }
	}}}
	fmt.Printf("== %s: %d states %v faults in %d\n", name, total, time.Since(begin).Round(time.Millisecond), faults)
	}
}

func sizes() []int32 { if os.Getenv("ALL") != "" { return []int32{1,2,3,4} }; return []int32{2,3} }

func limit() int { n, _ := strconv.Atoi(os.Getenv("LIMIT")); if n == 0 { return 30000 }; return n }
