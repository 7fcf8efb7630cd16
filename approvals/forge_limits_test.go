package approvals_test

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// limited is a limit that a forge sets with one answer.
type limited struct {
	name   string
	kind   devforge.FaultKind
	status int
	// wait is the time in the answer; 0 if there is none.
	wait time.Duration
}

// short limits end within the test.
func (l limited) short() bool { return l.wait > 0 && l.wait < time.Minute }

const untilSoon = 3 * time.Second

var limits = []limited{
	{"primary-403", devforge.FaultPrimaryLimit, http.StatusForbidden, untilSoon},
	{"primary-429", devforge.FaultPrimaryLimit, http.StatusTooManyRequests, untilSoon},
	{"primary-403-hour", devforge.FaultPrimaryLimit, http.StatusForbidden, time.Hour},
	{"primary-429-hour", devforge.FaultPrimaryLimit, http.StatusTooManyRequests, time.Hour},
	{"secondary-403", devforge.FaultSecondaryLimit, http.StatusForbidden, untilSoon},
	{"secondary-429", devforge.FaultSecondaryLimit, http.StatusTooManyRequests, untilSoon},
	{"secondary-403-silent", devforge.FaultSecondaryLimit, http.StatusForbidden, 0},
	{"secondary-429-silent", devforge.FaultSecondaryLimit, http.StatusTooManyRequests, 0},
}

// TestLimitedSourceSendsNothing: F18, a forge that limits one source gets no request of it before
// the time, whatever happens meanwhile in the cluster; no gate opens, the others go on, and what
// waits is caught up with after the time.
func TestLimitedSourceSendsNothing(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	shops := make([]*shop, 0, len(limits))
	for _, l := range limits {
		shops = append(shops, w.newShop(l.name, withOwnToken).begin())
	}
	for _, s := range shops {
		s.waits(approval())
	}
	for i, s := range shops {
		s.opened().merge("grace", "rebase")
		l := limits[i]
		s.inject(devforge.Fault{Kind: l.kind, Status: l.status, Wait: l.wait, Times: 1}, "", everything)
		s.hint(s.gate)
		s.awaitMessage(s.gate, "rate limited until")
	}
	// Each of these would have been a reason to ask.
	versions := map[string]string{}
	for _, s := range shops {
		s.sync()
		s.hint(s.gate)
		versions[s.name] = s.readGate(s.gate).ResourceVersion
		byHand := w.releaseFrom(s.name, "by-hand-"+s.name)
		gate := w.blockOn(byHand, manual())
		w.confirm(byHand)
		w.awaitDecision(gate, v1alpha1.DecisionPassed)
	}
	releaseAll(w.newShop("other"))

	var latest time.Duration
	for _, s := range shops {
		if s.limit().short() {
			s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
			latest = max(latest, s.caughtUp())
		}
	}
	sent, opened := 0, 0
	for _, s := range shops {
		early := s.sentWhileLimited()
		if sent += early; early > 0 {
			t.Errorf("%s: want no request while limited, got %d", s.name, early)
		}
		g := s.readGate(s.gate)
		if !time.Now().Before(s.limitEnd().Add(-time.Second)) {
			continue // a slow machine may take longer than the minute, which is fixed; each run has an hour
		}
		if g.Status.Decision == v1alpha1.DecisionPassed {
			opened++
		}
		if g.Status.Decision != v1alpha1.DecisionWaiting || g.ResourceVersion != versions[s.name] {
			t.Errorf("%s: want the gate shut, and nothing written to it while it has to wait: got %+v", s.name, g.Status)
		}
	}
	t.Logf("F18: %d kinds of limit: %d requests while limited, %d gates opened, manual gates and other sources went on, "+
		"asked again at most %s after the end of the limit", len(limits), sent, opened, latest.Round(time.Millisecond))
}

// TestSourcesOfOneTokenShareItsLimit: a forge counts the requests of a token together, whatever
// they are about: a limit that one source meets holds for each that has the same token, and for no
// other.
func TestSourcesOfOneTokenShareItsLimit(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	first, second := w.newShop("first").begin(), w.newShop("second").begin()
	for _, s := range []*shop{first, second} {
		s.waits(approval()).opened().merge("grace", "rebase")
	}
	first.inject(devforge.Fault{Kind: devforge.FaultPrimaryLimit, Status: http.StatusForbidden, Wait: time.Hour, Times: 1}, "", everything)
	first.hint(first.gate)
	first.awaitMessage(first.gate, "rate limited until")
	sent := len(second.requests())
	second.hint(second.gate)
	second.awaitMessage(second.gate, "rate limited until")
	if more := len(second.requests()) - sent; more != 0 {
		t.Errorf("%d requests of the other source of the token while it is limited, want none", more)
	}
	releaseAll(w.newShop("other", withOwnToken))
}

func (s *shop) limit() limited {
	for _, l := range limits {
		if l.name == s.name {
			return l
		}
	}
	s.Fatalf("%s has no limit", s.name)
	return limited{}
}

// limitedAt returns when the request came in that was answered with the limit.
func (s *shop) limitedAt() time.Time {
	s.Helper()
	for _, r := range s.requests() {
		if r.Status == s.limit().status {
			return r.Time
		}
	}
	s.Fatalf("%s was not limited", s.name)
	return time.Time{}
}

// limitEnd returns when the limit is over: a minute after an answer that does not say when.
func (s *shop) limitEnd() time.Time {
	s.Helper()
	if s.limit().wait == 0 {
		return s.limitedAt().Add(time.Minute)
	}
	return s.limitedAt().Add(s.limit().wait)
}

// sentWhileLimited counts the requests that came in before the limit was over, without those in
// flight when the answer came.
func (s *shop) sentWhileLimited() int {
	s.Helper()
	const underWay = time.Second
	begin, end := s.limitedAt(), s.limitEnd()
	count := 0
	for _, r := range s.requests() {
		// Both ends are told in whole seconds.
		if r.Time.After(begin.Add(underWay)) && r.Time.Before(end.Add(-time.Second)) {
			count++
		}
	}
	return count
}

// caughtUp returns the time from the end of the limit to the next request.
func (s *shop) caughtUp() time.Duration {
	s.Helper()
	end := s.limitEnd()
	for _, r := range s.requests() {
		if r.Time.After(end.Add(-time.Second)) {
			return max(r.Time.Sub(end), 0)
		}
	}
	s.Fatalf("%s has asked for nothing since", s.name)
	return 0
}

// TestPeopleComeFirst: while little is left of what the forge takes, progress waits, and the source
// says so; a pull request is opened all the same.
func TestPeopleComeFirst(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals(func(o *approvals.Options) { o.Forges = limitedForges(10) }) // five at once, one of them for people
	for _, name := range []string{"a", "b", "c"} {
		w.releaseFrom("shop", name)
		w.awaitStatuses("sluice/"+w.namespace+"/"+name, "pending: ")
	}
	held := w.releaseFrom("shop", "held")
	w.awaitStatuses("sluice/"+w.namespace+"/held", "pending: ")
	w.releaseFrom("shop", "web")
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeBehind)
	g := w.blockOn(held, approval())
	w.awaitPull(g)
}
