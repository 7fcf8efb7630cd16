package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/cli/verb/verbtest"
	"github.com/sluice-dev/sluice/dashboard/access"
)

// TestWhatHasChanged: a form is compared with the present state as far as it matters for its verb.
func TestWhatHasChanged(t *testing.T) {
	t.Parallel()
	before := seenOf(verbtest.AtGate().Release)
	cases := map[string]struct {
		change func(*verb.Situation)
		// from is the least that notices.
		from verb.Facts
		says string
	}{
		"another release":  {func(s *verb.Situation) { s.Release.UID = "r2" }, verb.ReleaseFacts, "a new one has its name"},
		"another template": {func(s *verb.Situation) { s.Release.Status.UpdateRevision = "v3" }, verb.ReleaseFacts, "Its revision is now v3; you saw v2."},
		"another attempt":  {func(s *verb.Situation) { s.Release.Status.Attempt = 5 }, verb.ReleaseFacts, "A new attempt of revision v2 has begun."},
		"another phase":    {func(s *verb.Situation) { s.Release.Status.Phase = v1alpha1.PhaseFailed }, verb.PhaseFacts, "Its phase is now Failed; you saw RollingUpdate."},
		"another before":   {func(s *verb.Situation) { s.Release.Status.StableRevision = "v0" }, verb.PhaseFacts, "The previous version is now v0; you saw v1."},
		"another batch":    {func(s *verb.Situation) { s.Release.Status.CurrentStepIndex = 2 }, verb.BatchFacts, "It is now at batch 3; you saw batch 2."},
		"other batches":    {func(s *verb.Situation) { s.Release.Spec.Strategy.Steps[2].Replicas = intstr.FromString("100%") }, verb.BatchFacts, "Its batches, or the gates of one, are others now."},
		"a gate to come": {func(s *verb.Situation) {
			s.Release.Spec.Strategy.Steps[2].Gates = []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}}
		}, verb.BatchFacts, "are others now"},
		"another way back":   {func(s *verb.Situation) { s.Release.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods }, verb.BatchFacts, "are others now"},
		"a gate that is new": {func(s *verb.Situation) { s.Gates[0].UID = "g2" }, verb.EveryFact, "A gate that you saw is no longer open."},
		"a gate that passed": {func(s *verb.Situation) { s.Gates[0].Status.Decision = v1alpha1.DecisionPassed }, verb.EveryFact, "The manual gate has passed in the meantime."},
		"a pause point": {func(s *verb.Situation) {
			s.Release.Status.State, s.Release.Status.PausePoint = v1alpha1.StatePausePoint, &v1alpha1.PausePoint{Pod: "web-1"}
		}, verb.EveryFact, "It no longer waits before that pod."},
	}
	for name, c := range cases {
		now := verbtest.AtGate()
		c.change(&now)
		for which := verb.ReleaseFacts; which <= verb.EveryFact; which++ {
			err := before.compare(now, asked{Request: verb.Request{Gates: []string{"g1"}}}, which)
			if noticed := err != nil; noticed != (which >= c.from) {
				t.Errorf("%s: facts %d: got %v", name, which, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: want %q, got %v", name, c.says, err)
			}
		}
	}
	if err := before.compare(verbtest.AtGate(), asked{Request: verb.Request{Gates: []string{"g1"}}}, verb.EveryFact); err != nil {
		t.Errorf("want nothing changed, got %v", err)
	}
	if err := (seen{}).compare(verbtest.AtGate(), asked{}, verb.ReleaseFacts); !errors.As(err, new(*changedError)) {
		t.Errorf("want a form that carries nothing refused, got %v", err)
	}
}

// TestFormCarriesWhatWasSeen: the fields of a form are read back unchanged.
func TestFormCarriesWhatWasSeen(t *testing.T) {
	t.Parallel()
	saw := seen{uid: "r1", revision: "v2", phase: "RollingUpdate", before: "v1", pod: "web-1", plan: "c0ffee", attempt: 4, step: 1}
	form := map[string][]string{}
	for _, field := range saw.fields() {
		form[field.Name] = []string{field.Value}
	}
	if diff := cmp.Diff(saw, readSeen(form), cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
}

// TestNoticesAreSealed: an address tells of an action to the person who did it, for a while.
func TestNoticesAreSealed(t *testing.T) {
	t.Parallel()
	now, ada, eve := time.Unix(1_800_000_000, 0), &access.Viewer{Name: "ada", CSRF: "hers"}, &access.Viewer{Name: "eve", CSRF: "other"}
	did := told{verb: "jump", outcome: written, to: "3", at: now}
	address := did.sealed("/releases/shop/web", ada)
	read := func(address string, who *access.Viewer, at time.Time) bool {
		found, genuine := readTold(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil), who, at)
		return genuine && found.verb == "jump" && found.to == "3"
	}
	for name, c := range map[string]struct {
		address string
		who     *access.Viewer
		at      time.Time
		want    bool
	}{
		"as it was made":  {address, ada, now.Add(time.Minute), true},
		"later":           {address, ada, now.Add(3 * time.Minute), false},
		"by another":      {address, eve, now, false},
		"without a token": {address, &access.Viewer{Name: "ada"}, now, false},
		"another release": {strings.Replace(address, "web?", "api?", 1), ada, now, false},
		"another batch":   {strings.Replace(address, "to=3", "to=4", 1), ada, now, false},
		"no seal":         {"/releases/shop/web?did=jump&outcome=written&to=3&at=1800000000", ada, now, false},
	} {
		if got := read(c.address, c.who, c.at); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}

// TestOnce: a form is dealt with once, unless that failed.
func TestOnce(t *testing.T) {
	t.Parallel()
	a, did := newActing(), 0
	fails := errors.New("the API server is away")
	try := func(form string, result error) (told, error) {
		return a.once(context.Background(), form, func() (told, error) {
			did++
			return told{verb: "pause", outcome: written}, result
		})
	}
	if _, err := try("one", fails); !errors.Is(err, fails) {
		t.Errorf("want the failure, got %v", err)
	}
	if came, err := try("one", nil); err != nil || came.outcome != written {
		t.Errorf("want a form that failed sent again, got %v, %v", came, err)
	}
	if came, err := try("one", nil); err != nil || came.outcome != again {
		t.Errorf("want to hear that it was sent, got %v, %v", came, err)
	}
	if _, err := try("two", nil); err != nil || did != 3 {
		t.Errorf("want another form dealt with, got %d, %v", did, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	inside := make(chan struct{})
	go func() {
		_, _ = a.once(context.Background(), "slow", func() (told, error) {
			close(inside)
			<-ended.Done()
			return told{}, nil
		})
	}()
	<-inside
	impatient, stop := context.WithCancel(context.Background())
	stop()
	if _, err := a.once(impatient, "slow", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("want nobody to wait longer than their request, got %v", err)
	}
	cancel()
}

// TestFormsPerPerson: a burst is let through, then one each second; others are not kept waiting.
func TestFormsPerPerson(t *testing.T) {
	t.Parallel()
	a, now, sent := newActing(), time.Unix(1_800_000_000, 0), 0
	for a.allow("eve", now) {
		sent++
	}
	if sent != actsBurst {
		t.Errorf("want %d forms at once, got %d", actsBurst, sent)
	}
	if !a.allow("ada", now) || !a.allow("eve", now.Add(time.Second)) || a.allow("eve", now.Add(time.Second)) {
		t.Error("want others let through, and one form each second")
	}
}

// TestSimulationsAtOnce: beyond a few there is none, and nobody has more than one of them, whatever
// service accounts they make.
func TestSimulationsAtOnce(t *testing.T) {
	t.Parallel()
	const inShop = "system:serviceaccount:shop:"
	for name, c := range map[string]struct {
		reason  string
		viewers []string
		want    int
	}{
		"People":     {"each keeps a processor busy", []string{"ada", "bob", "eve", "olga"}, maxSimulations},
		"OnePerson":  {"the others are left to others", []string{"eve", "eve", "eve"}, 1},
		"OneParty":   {"accounts cost nothing", []string{inShop + "a", inShop + "b", inShop + "c"}, 1},
		"TwoParties": {"that of another namespace is another's", []string{inShop + "a", "system:serviceaccount:other:a"}, 2},
		"NoName":     {"the API server names not everybody", []string{"", ""}, 1},
	} {
		a, ran := newActing(), 0
		var nested func(viewers []string)
		nested = func(viewers []string) {
			if len(viewers) > 0 && !a.simulate(viewers[0], func() { ran++; nested(viewers[1:]) }) {
				nested(viewers[1:])
			}
		}
		nested(c.viewers)
		if ran != c.want {
			t.Errorf("%s: %s: want %d at once, got %d", name, c.reason, c.want, ran)
		}
		for range maxSimulations + 1 {
			if !a.simulate("grace", func() {}) {
				t.Errorf("%s: want places free again", name)
			}
		}
	}
}
