package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// shareOf reads a share that is known to be fine.
func shareOf(t *testing.T, text string) share {
	t.Helper()
	s, err := parseShare(intstr.Parse(text))
	if err != nil {
		t.Fatalf("read share %q: %v", text, err)
	}
	return s
}

func TestShareIsRoundedUpWhenAStepIsEntered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason   string
		share    string
		replicas int32
		want     int32
	}{
		"number":            {"a number is what it says", "3", 10, 3},
		"number above":      {"short of 100% one old pod stays, whatever the number", "30", 10, 9},
		"number, all":       {"so it does where the number is that of all pods", "2", 2, 1},
		"number, one pod":   {"with one pod there is none to update before 100%", "1", 1, 0},
		"percent":           {"30% of 10", "30%", 10, 3},
		"rounded up":        {"10% of 11 is more than one pod", "10%", 11, 2},
		"a small share":     {"a percentage above 0 is at least one pod", "1%", 10, 1},
		"nothing":           {"0% is no pod", "0%", 10, 0},
		"almost all":        {"short of 100% one old pod stays", "99%", 10, 9},
		"one pod":           {"with one pod there is none to update before 100%", "50%", 1, 0},
		"all":               {"100% is every pod", "100%", 10, 10},
		"no pods, all":      {"100% of none", "100%", 0, 0},
		"no pods, a number": {"a number of none", "3", 0, 0},
		"no pods, percent":  {"a percentage of none", "30%", 0, 0},
		"many":              {"no overflow", "50%", 2_000_000_000, 1_000_000_000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shareOf(t, test.share).entered(test.replicas); got != test.want {
				t.Errorf("%s of %d = %d, want %d: %s", test.share, test.replicas, got, test.want, test.reason)
			}
		})
	}
}

// TestMoreReplicasMakeTheRoomThatAnUpdatedPodWasToMake: an updated pod that was to make room for an
// old one stays where somebody scales the workload up before it has gone.
func TestMoreReplicasMakeTheRoomThatAnUpdatedPodWasToMake(t *testing.T) {
	t.Parallel()
	// entered with as many updated pods as there were to be pods, which the target says but for one
	entered := func(replicas, target, old, updated int32) *scene {
		return held(replicas).steps(step("10%"), step("100%")).at(0, target).scaledFrom(0).sets(set("v1", old), set("v2", updated))
	}
	back := func(s *v1alpha1.BatchReleaseStatus) {
		s.Jump = &v1alpha1.Jump{From: 1, To: 0, Attempt: s.Attempt, RemovePods: true}
	}
	tests := map[string]struct {
		scene *scene
		want  int32
	}{
		"as many as before: it makes room": {entered(1, 0, 1, 1), 0},
		"more: it stays":                   {entered(7, 0, 7, 1), 1},
		"more: all of them stay":           {entered(7, 2, 1, 3), 3},
		"what the native controller made of a lone version meanwhile":   {entered(7, 0, 0, 7), 1},
		"fewer: one more makes room":                                    {entered(2, 2, 1, 3), 1},
		"it has gone: nobody asks for it":                               {entered(7, 0, 7, 0), 0},
		"they are to go back with the step":                             {entered(7, 0, 7, 1).status(back), 0},
		"in steps that can't be read":                                   {entered(7, 0, 7, 1).steps(step("100%"), step("10%")), 1},
		"... and one alone, beside old pods":                            {entered(7, 0, 4, 3).steps(step("100%"), step("10%")), 1},
		"the step was entered with more, and is rounded down for fewer": {entered(10, 3, 7, 4).scaledFrom(40), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, task := follow(nothing(test.scene.look())); task.Target != test.want {
				t.Errorf("%d pods are to be updated, want %d", task.Target, test.want)
			}
		})
	}
}
