package daemonset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// TestForeignPodsGoFirst: pods of a foreign template go before old pods, within the step: a pod of
// the new version replaces each.
func TestForeignPodsGoFirst(t *testing.T) {
	t.Parallel()
	foreign := func(t mover.Task) mover.Task {
		t.Foreign = "v9"
		return t
	}
	paused := foreign(within(3, 3))
	paused.Limits = limits("pod-1")
	itself := foreign(within(3, 3))
	itself.Limits = limits("pod-1", "pod-2")
	turn := foreign(within(3, 2))
	turn.Turn = uids("pod-3", "pod-1")
	tests := map[string]struct {
		mover Mover
		task  mover.Task
		move  []string
	}{
		"not beyond the target":          {held(pod("v2"), pod("v9"), pod("v1")), foreign(within(2, 1)), nil},
		"within what may be unavailable": {held(pod("v9"), pod("v9"), pod("v1")), foreign(within(1, 2)), []string{"replace agent-1"}},
		"not while another is missing":   {held(pod("v9"), pod("v2", warming), pod("v1")), foreign(within(1, 2)), nil},
		"before others":                  {held(pod("v1"), pod("v1"), pod("v9")), foreign(within(3, 1)), []string{"replace agent-3"}},
		"after what does not serve": {
			held(pod("v1", unready), pod("v9"), pod("v1")), foreign(within(2, 2)), []string{"replace agent-1, agent-2"},
		},
		"past a pause point": {
			held(pod("v1"), pod("v9"), pod("v1")), paused, []string{"replace agent-2"},
		},
		"past a pause point of its own": {
			held(pod("v1"), pod("v9"), pod("v1")), itself, []string{"replace agent-2"},
		},
		"without a turn": {
			held(pod("v1"), pod("v9"), pod("v1")), turn, []string{"replace agent-2, agent-3"},
		},
		"not on a node that is lost":            {held(pod("v9", lost), pod("v1"), pod("v1")), foreign(within(2, 1)), []string{"replace agent-2"}},
		"not where nobody has given a template": {held(pod("v9"), pod("v1")), within(2, 0), nil},
		"not where it is the one that is released": {
			held(pod("v9"), pod("v1")).but(func(m *Mover) { m.Update = "v9" }), foreign(within(2, 1)), nil,
		},
		"not while another template is in the DaemonSet": {
			held(pod("v9"), pod("v1")).but(func(m *Mover) { m.Digest = "digest-v9" }), foreign(within(2, 1)), nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.move, test.mover.move(test.task)); diff != "" {
				t.Errorf("what Move writes (-want +got):\n%s", diff)
			}
		})
	}
}
