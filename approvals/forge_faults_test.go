package approvals_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// everyAnswer has each request meet each kind of bad answer. By default each request meets one, and
// the kinds take turns.
var everyAnswer = flag.Bool("every-answer", false, "have each request to the forge meet each kind of bad answer")

// met returns which of several kinds of bad answers the i-th request meets.
func met(i int, kinds []string) []string {
	if *everyAnswer {
		return kinds
	}
	return kinds[i%len(kinds):][:1]
}

// badAnswers are the ways in which an answer of the forge goes wrong.
var badAnswers = map[string]devforge.Fault{
	"5xx":       {Kind: devforge.FaultStatus},
	"hang":      {Kind: devforge.FaultHang},
	"stall":     {Kind: devforge.FaultStall},
	"malformed": {Kind: devforge.FaultMalformed},
	"partial":   {Kind: devforge.FaultPartialPage},
	"lost":      {Kind: devforge.FaultLostAnswer},
	"redirect":  {Kind: devforge.FaultRedirect, Location: "http://127.0.0.1:1/"},
}

// request is one of those that a release sends to its repository.
type request struct {
	method string
	// path is a pattern of what follows the repository's.
	path string
	// after is how many like it come before.
	after int
}

var (
	anyCommit = regexp.MustCompile(`[0-9a-f]{40}`)
	anyBranch = regexp.MustCompile(`/heads/.*`)
)

// learn returns the requests that the shop has sent: each that writes, and of those that read one
// of each.
func (s *shop) learn() []request {
	seen := map[request]int{}
	var all []request
	for _, r := range s.requests() {
		path := regexp.QuoteMeta(strings.TrimPrefix(r.Path, s.root()))
		path = anyBranch.ReplaceAllString(anyCommit.ReplaceAllString(path, anyCommit.String()), anyBranch.String()) + "$"
		one := request{method: r.Method, path: path}
		if count := seen[one]; count == 0 || r.Method != http.MethodGet {
			all = append(all, request{method: r.Method, path: path, after: count})
		}
		seen[one]++
	}
	return all
}

// releaseAll has shops release at once, from the first batch to the end. Each gate must stay shut
// until its pull request is merged and Git shows that.
func releaseAll(shops ...*shop) released {
	var seen released
	for _, s := range shops {
		s.begin()
	}
	for _, s := range shops {
		s.waits(approval())
	}
	for _, s := range shops {
		s.opened().merge("grace", "squash")
		s.hint(s.gate)
	}
	for _, s := range shops {
		s.awaitMessage(s.gate, "was merged")
		if got := s.decision(); got != v1alpha1.DecisionWaiting {
			seen.early++
			s.Errorf("%s: want the gate shut until Git shows the record, got %q", s.name, got)
		}
		s.sync()
	}
	for _, s := range shops {
		s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
		s.complete(s.release)
	}
	for _, s := range shops {
		s.awaitEnd("success")
		pulls := s.pulls()
		if len(pulls) != 1 {
			s.Errorf("%s: want one pull request, got %d", s.name, len(pulls))
		}
		seen.ended, seen.pulls = seen.ended+1, max(seen.pulls, len(pulls))
	}
	return seen
}

// released counts the releases that completed, the gates that were open before Git had shown that,
// and the pull requests of one at most.
type released struct{ ended, early, pulls int }

// TestEachRequestMeetsEachBadAnswer: F17, each request of a release meets each bad answer once with
// -every-answer, else one of each sort. No gate opens by it, and each opens in the end. A release
// has one pull request, and ends with the status that tells the outcome.
func TestEachRequestMeetsEachBadAnswer(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]string{
		"Answers": {"5xx", "malformed", "partial", "lost", "redirect"},
		"Silence": {"hang", "stall"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgeWorld(t)
			w.startForgeApprovals(func(o *approvals.Options) { o.Forges = loopbackForges(4 * time.Second) })
			w.sweep(kinds)
		})
	}
}

// sweep has a release for each request of one without faults and each bad answer that it meets.
func (w *forgeWorld) sweep(kinds []string) {
	w.Helper()
	clean := w.newShop("clean")
	releaseAll(clean)
	requests := clean.learn()
	var shops []*shop
	var ends []func() int
	for i, r := range requests {
		for _, kind := range met(i, kinds) {
			fault := badAnswers[kind]
			fault.After, fault.Times = r.after, 1
			shops = append(shops, w.newShop(fmt.Sprintf("%s-%d", kind, i), func(s *shop) {
				ends = append(ends, s.inject(fault, r.method, r.path))
			}))
		}
	}
	var seen released
	took := timeOf(func() { seen = releaseAll(shops...) })
	most := 0
	for i, s := range shops {
		if ends[i]() != 1 {
			w.Errorf("%s must have met its fault", s.name)
		}
		most = max(most, len(s.requests()))
	}
	w.Logf("F17: each of %d requests of a release met %q: %d releases, %d opened wrongly, %d stuck, %d pull request each at most, "+
		"%d requests at most (%d without faults), all done after %s",
		len(requests), kinds, len(shops), seen.early, len(shops)-seen.ended, seen.pulls, most, len(clean.requests()), took)
}

// TestEachLookAtAStatusMeetsEachBadAnswer: F17, the same for the requests that read the status of
// a commit: an obstacle is not overlooked, and the status that opens the gate is seen in the end.
func TestEachLookAtAStatusMeetsEachBadAnswer(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals(func(o *approvals.Options) { o.Forges = loopbackForges(4 * time.Second) })
	var shops []*shop
	for name, fault := range badAnswers {
		for _, ends := range []string{"success", "failure"} {
			for after := range 2 {
				s := w.newShop(fmt.Sprintf("%s-%s-%d", ends, name, after)).begin()
				s.post("ci", s.commit, "ci/smoke", "success")
				s.post("ci", s.commit, "ci/smoke", ends)
				fault.After, fault.Times = after, 1
				s.inject(fault, http.MethodGet, "/commits/"+s.commit+"/statuses$")
				shops = append(shops, s)
			}
		}
	}
	for _, s := range shops {
		s.waits(smoke())
	}
	seen := outcomes(shops, func(s *shop) (says, reason string) {
		if strings.HasPrefix(s.name, "failure") {
			return "it is failure", "the newest status is a failure"
		}
		return "", ""
	})
	t.Logf("F17: each of 2 requests for the status of a commit met %d bad answers: %s", len(badAnswers), seen)
}

// TestForgeThatIsDownHoldsUpNobodyElse: F17, a forge that answers one source badly holds up that
// source's gates, and nothing else: neither releases of other sources, nor the parts of this one
// that need no forge.
func TestForgeThatIsDownHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals(func(o *approvals.Options) { o.Forges = loopbackForges(2 * time.Second) })
	before := w.newShop("before")
	clean := timeOf(func() { releaseAll(before) })

	var down []*shop
	var ends []func() int
	for _, name := range slices.Sorted(maps.Keys(badAnswers)) {
		if name != "partial" { // the gate reads no list, of which a part could be missing
			down = append(down, w.newShop(name).begin())
		}
	}
	for _, s := range down {
		s.waits(approval())
	}
	for _, s := range down {
		s.opened().merge("grace", "merge")
		ends = append(ends, s.inject(badAnswers[s.name], "", everything))
		s.sync()
		s.hint(s.gate)
	}
	byHand := w.releaseFrom(down[0].name, "by-hand")
	gate := w.blockOn(byHand, manual())
	w.confirm(byHand)
	w.awaitDecision(gate, v1alpha1.DecisionPassed)
	up := w.newShop("up")
	meanwhile := timeOf(func() { releaseAll(up) })

	early := 0
	for _, s := range down {
		s.awaitMessage(s.gate, "can't be asked")
		if got := s.decision(); got != v1alpha1.DecisionWaiting {
			early++
			t.Errorf("%s: want the gate shut while the forge does not say who merged, got %q", s.name, got)
		}
	}
	asked := 0
	for i, s := range down {
		asked = max(asked, ends[i]())
		if len(s.pulls()) != 1 {
			t.Errorf("%s: want one pull request", s.name)
		}
	}
	again := timeOf(func() {
		for _, s := range down {
			s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
		}
	})
	t.Logf("F17: with %d sources down another released in %s (%s before), a manual gate passed, %d gates opened wrongly, "+
		"at most %d requests to a forge that is down; all open %s after it was up", len(down), meanwhile, clean, early, asked, again)
}

func timeOf(what func()) time.Duration {
	start := time.Now()
	what()
	return time.Since(start).Round(10 * time.Millisecond)
}
