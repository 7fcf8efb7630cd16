package approvals_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const statusPosts = "/statuses/[0-9a-f]{40}$"

// badPosts are the ways in which the posts of one release go wrong, each of them once.
var badPosts = map[string][]devforge.Fault{
	"none":   nil,
	"lost":   {{Kind: devforge.FaultLostAnswer, Times: 1}, {Kind: devforge.FaultLostAnswer, After: 1, Times: 1}, {Kind: devforge.FaultLostAnswer, After: 2, Times: 1}},
	"failed": {{Kind: devforge.FaultStatus, Times: 1}, {Kind: devforge.FaultStatus, After: 1, Times: 1}, {Kind: devforge.FaultStatus, After: 2, Times: 1}},
	"cut":    {{Kind: devforge.FaultMalformed, Times: 1}, {Kind: devforge.FaultMalformed, After: 1, Times: 1}, {Kind: devforge.FaultMalformed, After: 2, Times: 1}},
}

// postsOf counts what was sent to post a status of the release, however that ended.
func (s *shop) postsOf() int {
	count := 0
	for _, r := range s.requests() {
		if r.Method == http.MethodPost && strings.Contains(r.Path, "/statuses/") {
			count++
		}
	}
	return count
}

// TestEachPostGoesWrong: F23, however each post of a release goes wrong, the last status tells the
// outcome, none is left out, and each is sent again at most once.
func TestEachPostGoesWrong(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	var shops []*shop
	for name, faults := range badPosts {
		s := w.newShop(name)
		for _, fault := range faults {
			s.inject(fault, http.MethodPost, statusPosts)
		}
		shops = append(shops, s)
	}
	releaseAll(shops...)
	for _, s := range shops {
		var states []string
		for _, line := range s.told() {
			if len(states) == 0 || states[len(states)-1] != line {
				states = append(states, line)
			}
		}
		if len(states) != 3 || s.postsOf() > 2*len(states) {
			t.Errorf("%s: want three statuses, each sent twice at most, got %q by %d posts", s.name, states, s.postsOf())
		}
		t.Logf("F23: posts of a release, %s: %d sent, %d there, last %q", s.name, s.postsOf(), len(s.told()), states[len(states)-1])
	}
}

// TestPostsThatAreRefused: F23, a forge that refuses a status is not asked over and over, the
// release goes on, and the outcome is told when the forge takes it.
func TestPostsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	s := w.newShop("refused")
	off := s.inject(devforge.Fault{Kind: devforge.FaultStatus, Status: http.StatusUnprocessableEntity}, http.MethodPost, statusPosts)
	s.begin()
	s.gate = s.blockOn(s.release, approval())
	s.number = s.awaitPull(s.gate)
	s.merge("grace", "squash")
	s.sync()
	s.hint(s.gate)
	s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
	refused := off()
	if told := s.told(); refused > 2 || len(told) != 0 {
		t.Errorf("want each status sent once, got %d posts and %q", refused, told)
	}
	s.complete(s.release)
	s.awaitEnd("success")
	t.Logf("F23: posts of a release whose statuses are refused: %d sent in vain, the outcome is told: %q", refused, s.told())
}

// TestPostsThatAreForgotten: F23, a process that does not remember a post sends it again: the same
// text, and no older one.
func TestPostsThatAreForgotten(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	stop := w.startForgeApprovals()
	s := w.newShop("forgotten").begin().waits(approval()).opened()
	stop()
	before := s.told()
	forget := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"report":null}}`))
	if err := s.Status().Patch(t.Context(), s.release.DeepCopy(), forget); err != nil {
		t.Fatalf("forget what was told: %v", err)
	}
	w.startForgeApprovals()
	s.awaitTold(fmt.Sprintf("#%d", s.number))
	after := s.told()
	if len(after) != len(before)+1 || after[len(after)-1] != before[len(before)-1] {
		t.Errorf("want what was told last once more, got %q after %q", after, before)
	}
	s.complete(s.release)
	cptest.Eventually(t, soon, func() error {
		if told := s.told(); !strings.HasPrefix(told[len(told)-1], "success: ") {
			return fmt.Errorf("want the outcome told, got %q", told)
		}
		return nil
	})
}
