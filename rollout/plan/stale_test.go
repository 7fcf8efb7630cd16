package plan_test

import (
	"testing"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestAStaleWorkloadIsHeldAsItIsFirst: otherwise a lost pod would come back in a version before
// the one that all pods run.
func TestAStaleWorkloadIsHeldAsItIsFirst(t *testing.T) {
	t.Parallel()
	for _, stale := range []bool{true, false} {
		k := newRack(t, 4)
		k.give("v2")
		resolved := &plan.Resolved{}
		resolved.Digest, resolved.Revision, resolved.Given = digestOf("v2"), "v2", "v2"
		ask := func(stale bool) *plan.TakeOver {
			var taken *plan.TakeOver
			for range 10 {
				o := k.observation(resolved)
				o.Workload.Mover = slots{pods: k.slots, held: k.hold != nil, stale: stale}
				next := plan.Next(o)
				k.release.Status = next.Status
				for _, action := range next.Actions {
					if take, is := action.(plan.TakeOver); is {
						taken = &take
					}
					k.do(action)
				}
				if taken != nil {
					break
				}
			}
			return taken
		}
		if first := ask(stale); first == nil || (first.Template == nil) != stale || first.AsItIs != stale {
			t.Fatalf("stale %t: want it taken over, with another template unless it is stale, got %+v", stale, first)
		}
		if !stale {
			continue
		}
		if early := ask(true); early != nil {
			t.Fatalf("want nothing written before it is no longer stale, got %+v", early)
		}
		if second := ask(false); second == nil || second.Template == nil {
			t.Fatalf("want the template then, got %+v", second)
		}
	}
}

// TestWhatIsRefusedOfAStaleWorkload: the API server may take one of the two writes and refuse the
// other. Each is told in words of its own.
func TestWhatIsRefusedOfAStaleWorkload(t *testing.T) {
	t.Parallel()
	hold := plan.Hold{Release: "web"}
	writes := []plan.TakeOver{{Hold: hold, AsItIs: true}, {Hold: hold, Template: &plan.Template{Given: true}}, {Hold: hold}}
	keys, words := map[string]bool{}, map[string]bool{}
	for _, write := range writes {
		name := plan.WriteOf(write)
		keys[name.Key], words[name.Words] = true, true
	}
	if len(keys) != len(writes) || len(words) != len(writes) {
		t.Errorf("want a key and words for each of %d writes, got %v and %v", len(writes), keys, words)
	}
	k := newRack(t, 4)
	k.give("v2")
	resolved := &plan.Resolved{}
	resolved.Digest, resolved.Revision, resolved.Given = digestOf("v2"), "v2", "v2"
	first := plan.WriteOf(writes[0])
	for range 10 {
		o := k.observation(resolved)
		o.Workload.Mover = slots{pods: k.slots, held: k.hold != nil, stale: true}
		o.Refusals = plan.Refusals{}.With(plan.Refusal{Write: first, Why: "no cost centre", Generation: k.release.Generation}, o.Now, 0)
		next := plan.Next(o)
		k.release.Status = next.Status
		for _, action := range next.Actions {
			k.do(action)
		}
	}
	if told := k.release.Status.RefusedWrite; k.hold != nil || told == nil || told.Key != first.Key || told.Write != first.Words {
		t.Errorf("want the workload left alone, and %+v told, got %+v", first, told)
	}
}
