package main

import (
	"testing"
	"time"
)

// TestRolledBack: a rollback has ended when all pods are available in the old version and no other
// is there.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	const half = "pod a v1 ready; pod b v1 ready; start; pod c v2 ready; pod b v1 ready ending; gone b"
	cases := map[string]struct {
		reason, log string
		want        time.Duration // after the start; 0 if it has not ended
	}{
		"Half":    {"a pod is new", half, 0},
		"Surge":   {"the old pods are back, and a new one is still there", half + "; pod d v1 ready", 0},
		"Ending":  {"a pod that is being deleted still runs", half + "; pod d v1 ready; pod c v2 ready ending", 0},
		"Done":    {"the last new pod is gone", half + "; pod d v1 ready; pod c v2 ready ending; gone c", 6 * time.Second},
		"Unready": {"an old pod is not available", half + "; pod d v1 unready; pod c v2 ready ending; gone c", 0},
		"Late":    {"the last old pod becomes available", half + "; pod d v1 unready; gone c; pod d v1 ready", 6 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rollback{fleet: fleet{deployments: 1, pods: 2}}
			ends, got := r.returning(began), time.Duration(0)
			for _, change := range script(t, tc.log) {
				if got == 0 && ends(change) {
					got = change.at.Sub(began)
				}
			}
			if got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
