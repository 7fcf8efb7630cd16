package deployment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
)

func TestRefillGivesTheStableSetAPod(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stable, beside Set
		surge          int32
		want           string
	}{
		"the stable set gets a pod beside another one": {set("v1", 0), set("v2", 1), 1, "scale v1 0 -> 1"},
		"not while it is being deleted":                {set("v1", 0, func(s *Set) { s.Deleting = true }), set("v2", 1), 1, ""},
		"not beyond the surge":                         {set("v1", 0), set("v2", 5), 1, ""},
		"without surge it is one beyond the replicas":  {set("v1", 0), set("v2", 4), 0, "scale v1 0 -> 1"},
		"... and no more than one":                     {set("v1", 0), set("v2", 5), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			again := mover.Beginning{Digest: "digest-v1", Stable: "v1", Replicas: 4, Bounds: mover.Bounds{Surge: test.surge}}
			if write := (Mover{Sets: []Set{test.stable, test.beside}}).Refill(again); write != nil {
				got = write.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("what is written (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefilled checks when a Deployment that was scaled to 0 may get another template: once the
// native controller has given its pods to the stable ReplicaSet.
func TestRefilled(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sets   []Set
		behind int64
		want   bool
	}{
		"the stable set has pods":                       {[]Set{set("v1", 4)}, 0, true},
		"it has none yet":                               {[]Set{set("v1", 0)}, 0, false},
		"nobody has counted them":                       {[]Set{set("v1", 4, unobserved)}, 0, false},
		"another set has the pods":                      {[]Set{set("v1", 0), set("v2", 4)}, 0, false},
		"only other sets have pods":                     {[]Set{set("v2", 4)}, 0, false},
		"two sets have pods: none gets more":            {[]Set{set("v2", 1), set("v3", 4)}, 0, true},
		"the native controller has not seen the change": {[]Set{set("v1", 4)}, 1, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Mover{Sets: test.sets}).Refilled("v1", test.behind); got != test.want {
				t.Errorf("refilled: %t, want %t", got, test.want)
			}
		})
	}
}

func TestNothingMovesWhileTheNativeControllerMayAct(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sets   []Set
		behind int64
		want   bool
	}{
		"it has seen the Deployment":                     {[]Set{set("v1", 4)}, 0, false},
		"it has missed more than the take-over":          {[]Set{set("v1", 4)}, 2, true},
		"it could only take new pods away again":         {[]Set{set("v1", 4)}, 1, false},
		"an old set lacks pods":                          {[]Set{set("v1", 3)}, 1, true},
		"two versions have pods":                         {[]Set{set("v1", 4), set("v2", 1)}, 1, true},
		"the new set has all pods, of a template before": {[]Set{set("v2", 4)}, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Mover{Sets: test.sets}).MayAct("digest-v2", 4, test.behind); got != test.want {
				t.Errorf("it may act: %t, want %t", got, test.want)
			}
		})
	}
}
