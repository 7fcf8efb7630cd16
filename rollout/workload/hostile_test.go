package workload

import (
	"encoding/json"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover/strategy"
)

// TestEveryKindHasARoom: a workload of each registered kind can be held, and its pods moved.
func TestEveryKindHasARoom(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds.All {
		w := New(kind.Name)
		if w == nil || w.Kind() != kind.Name || w.Mover("") == nil {
			t.Errorf("%s has no room, or that of another kind", kind.Name)
		}
	}
	if len(rooms) != len(kinds.All) {
		t.Errorf("%d rooms, want one for each of %d kinds", len(rooms), len(kinds.All))
	}
}

// TestStrategiesThatAreNone: a strategy that no API server accepts is replaced by the default one;
// a valid one stays as it is.
func TestStrategiesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, taken := range map[string]struct{ deployment, stateful, daemon bool }{
		`{"type":"RollingUpdate"}`: {true, true, true},
		`{"type":"OnDelete"}`:      {false, true, true},
		`{"type":"Recreate"}`:      {true, false, false},
		`{"type":"Recreate","rollingUpdate":{"maxUnavailable":1}}`:                        {false, false, false},
		`{"type":"rollingupdate"}`:                                                        {false, false, false},
		`{"rollingUpdate":{"maxUnavailable":1}}`:                                          {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}}`:                   {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"50%"}}`:               {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"0%"}}`:                {true, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":0}}`:      {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":2}}`:      {true, false, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":2}}`:      {true, true, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"101%"}}`:              {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":"200%"}}`: {true, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":-1}}`:                  {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"x"}}`:                 {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":-1}}`:                       {true, false, true},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":2147483647}}`:               {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":99999999999}}`:              {true, false, true},
	} {
		rolling := `{"type":"RollingUpdate"}`
		for kind, is := range map[string]struct {
			taken    bool
			strategy any
		}{
			"Deployment":  {taken.deployment, &appsv1.DeploymentStrategy{}},
			"StatefulSet": {taken.stateful, &appsv1.StatefulSetUpdateStrategy{}},
			"DaemonSet":   {taken.daemon, &appsv1.DaemonSetUpdateStrategy{}},
		} {
			want := rolling
			if is.taken {
				if err := json.Unmarshal([]byte(text), is.strategy); err != nil {
					t.Fatal(err)
				}
				want = strategy.Encode(is.strategy)
			}
			if got := givenBack(t, kind, text); got != want {
				t.Errorf("the strategy %s of a %s is read as %s, want %s", text, kind, got, want)
			}
		}
	}
}

// givenBack returns the strategy that a workload gets back of the text.
func givenBack(t *testing.T, kind, text string) string {
	t.Helper()
	patch := new(jsonpatch.Patch)
	New(kind).GiveBack(patch, v1alpha1.HeldWorkload{Strategy: text})
	data, err := patch.Encode()
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Path  string
		Value json.RawMessage
	}
	var operations []operation
	if err := json.Unmarshal(data, &operations); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(operations, func(o operation) bool {
		return o.Path == "/spec/strategy" || o.Path == "/spec/updateStrategy"
	})
	if i < 0 {
		t.Fatalf("a %s gets no strategy back", kind)
	}
	return string(operations[i].Value)
}
