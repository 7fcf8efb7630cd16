package judge

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestMeanOfBets: under its claim no bet gains in the mean, for each small number of requests, by
// exact enumeration of errors that meet requests independently.
func TestMeanOfBets(t *testing.T) {
	for newRequests := 1.0; newRequests <= 5; newRequests++ {
		for oldRequests := 1.0; oldRequests <= 5; oldRequests++ {
			for _, rate := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.9} {
				q := newRequests / (newRequests + oldRequests)
				for _, slack := range []float64{1, 0.9, 0.5} { // of a version that is better than the claim
					wantFair(t, fmt.Sprintf("no worse, %v+%v requests, rates %v and %v", newRequests, oldRequests, rate*slack, rate),
						binomial(newRequests, rate*slack), binomial(oldRequests, rate), func(share float64) float64 { return gain(share, q) })
				}
				for _, ratio := range ratios {
					if ratio < 1 || rate*ratio > 1 {
						continue
					}
					wantFair(t, fmt.Sprintf("%v times as bad, %v+%v requests, rate %v", ratio, newRequests, oldRequests, rate),
						binomial(newRequests, rate*ratio), binomial(oldRequests, rate),
						func(share float64) float64 { return gain(1-share, 1-shareAt(ratio, q)) })
				}
			}
		}
	}
}

// TestMeanOfBetsOfRareErrors: where errors are rare, so that their number is Poisson's, the claims
// of all ratios hold.
func TestMeanOfBetsOfRareErrors(t *testing.T) {
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9} {
		for _, errors := range []float64{0.01, 0.3, 2, 10} {
			for _, ratio := range ratios {
				share := shareAt(ratio, q)
				wantFair(t, fmt.Sprintf("at most %v times, share %v, %v errors", ratio, q, errors),
					poisson(errors*share), poisson(errors*(1-share)), func(s float64) float64 { return gain(s, share) })
			}
			for _, ratio := range ratios {
				share := shareAt(ratio, q)
				wantFair(t, fmt.Sprintf("at least %v times, share %v, %v errors", ratio, q, errors),
					poisson(errors*share), poisson(errors*(1-share)), func(s float64) float64 { return gain(1-s, 1-share) })
			}
		}
	}
}

// gain returns the wealth of fresh bets after one look.
func gain(share, bound float64) float64 {
	b := newBets()
	b.add(share, bound)
	return b.wealth()
}

func wantFair(t *testing.T, name string, newErrors, oldErrors []outcome, gain func(share float64) float64) {
	t.Helper()
	mean, sum := 0.0, 0.0
	for _, a := range newErrors {
		for _, b := range oldErrors {
			wealth := 1.0
			if a.value+b.value > 0 {
				wealth = gain(a.value / (a.value + b.value))
			}
			mean += a.chance * b.chance * wealth
			sum += a.chance * b.chance
		}
	}
	if mean/sum > 1+1e-6 || math.Abs(sum-1) > 1e-6 {
		t.Errorf("%s: the mean is %v, want at most 1 (chances sum up to %v)", name, mean, sum)
	}
}

func binomial(n, rate float64) (outcomes []outcome) {
	for k := 0.0; k <= n; k++ {
		ways, _ := math.Lgamma(n + 1)
		without, _ := math.Lgamma(k + 1)
		rest, _ := math.Lgamma(n - k + 1)
		outcomes = append(outcomes, outcome{k, math.Exp(ways-without-rest) * math.Pow(rate, k) * math.Pow(1-rate, n-k)})
	}
	return outcomes
}

// TestBursts: a burst of any size is one draw for the bet, which is fair as well.
func TestBursts(t *testing.T) {
	for _, size := range []float64{1, 3, 10, 1000} {
		bursts := func(mean float64) []outcome {
			o := poisson(mean)
			for i := range o {
				o[i].value *= size
			}
			return o
		}
		for _, q := range []float64{0.05, 0.5} {
			wantFair(t, fmt.Sprintf("bursts of %v", size), bursts(2*q), bursts(2*(1-q)), func(s float64) float64 { return gain(s, q) })
		}
	}
}

func TestCountsThatCannotBe(t *testing.T) {
	good := Look{New: Count{10, 1}, NewPods: 1, Old: []Part{{Count{10, 1}, 1}}}
	for name, tc := range map[string]struct {
		look Look
		says string
	}{
		"not a number":         {Look{New: Count{math.NaN(), 0}}, "new version: a count is not a finite number"},
		"infinite":             {Look{New: good.New, Old: []Part{{Count{math.Inf(1), 0}, 1}}}, "part 0 of the old version: a count is not a finite number"},
		"a counter went down":  {Look{New: Count{-1, 0}}, "below 0"},
		"errors, no requests":  {Look{New: Count{0, 1}}, "1 errors are more than the 0 requests"},
		"more than eight":      {Look{Old: make([]Part, Parts+1)}, "9 parts of the old version are more than 8"},
		"too many":             {Look{New: Count{1e16, 0}}, "more than"},
		"negative new pods":    {Look{New: good.New, NewPods: -1, Old: good.Old}, "-1 pods"},
		"negative old pods":    {Look{New: good.New, Old: []Part{{Count{10, 1}, -1}}}, "-1 pods"},
		"more errors, old one": {Look{New: good.New, Old: []Part{good.Old[0], {Count{1, 2}, 1}}}, "part 1"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := New().Add(good)
			after, err := before.Add(tc.look)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got error %v, want one with %q", err, tc.says)
			}
			if after != before {
				t.Error("the evidence has changed")
			}
		})
	}
}

// TestNoData: looks without requests of both versions, or without errors, never lead to a verdict.
func TestNoData(t *testing.T) {
	for name, look := range map[string]Look{
		"nothing":        {},
		"no old version": {New: Count{1000, 1000}, NewPods: 1},
		"no new version": {Old: []Part{{Count{1000, 0}, 1}}},
		"no errors":      {New: Count{1e6, 0}, NewPods: 1, Old: []Part{{Count{1e6, 0}, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := New()
			for range 10_000 {
				var err error
				if e, err = e.Add(look); err != nil {
					t.Fatal(err)
				}
			}
			if v := e.Verdict(Default()); v.Outcome != NotYet || v.Low != 0 || v.High != 0 {
				t.Errorf("got %+v, want no verdict and no bounds", v)
			}
		})
	}
}

// TestBurstsOfOneVersion: bets count looks, and sums count errors. Where one version has rare and
// large bursts the two contradict each other, and nothing is decided.
func TestBurstsOfOneVersion(t *testing.T) {
	for name, tc := range map[string]struct{ newErrors, oldErrors float64 }{
		"the new one has 10 times the errors, in as few looks": {10, 1},
		"the old one has a huge burst":                         {1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := New()
			add := func(newErrors, oldErrors float64) {
				half := Count{500, oldErrors / 2}
				e, _ = e.Add(Look{New: Count{1000, newErrors}, NewPods: 50, Old: []Part{{half, 25}, {half, 25}}})
			}
			if tc.oldErrors == 0 {
				add(0, 1000)
			}
			for range 400 {
				add(tc.newErrors, 0)
				add(0, tc.oldErrors)
			}
			if v := e.Verdict(Default()); v.Outcome != NotYet {
				t.Errorf("got %+v, want %s", v, NotYet)
			}
		})
	}
}

// TestPodsThatComeLate: the errors that one pod had do not become those of fifty by the last look.
func TestPodsThatComeLate(t *testing.T) {
	for pods, want := range map[int]Outcome{1: NotYet, 50: Worse} {
		e := New()
		add := func(newPods int) {
			look := Look{New: Count{1000, 16}, NewPods: newPods}
			for i := range Parts {
				look.Old = append(look.Old, Part{Count{1000, 9 + float64(i%3)}, 6})
			}
			e, _ = e.Add(look)
		}
		for range 400 {
			add(pods)
		}
		add(50)
		if v := e.Verdict(Default()); v.Outcome != want {
			t.Errorf("%d pods: got %+v, want %s", pods, v, want)
		}
	}
}

// TestExtremeCounts: a look of any numbers is refused, or leaves evidence that can be kept and that
// decides nothing.
func TestExtremeCounts(t *testing.T) {
	numbers := []float64{0, 5e-324, 1e-300, 1e-20, 1, 1e9, 1e15, 1e17, 1e300, math.MaxFloat64}
	for _, n := range numbers {
		for _, newErrors := range numbers {
			for _, o := range numbers {
				for _, oldErrors := range numbers {
					e, err := New().Add(Look{
						New: Count{n, newErrors}, NewPods: 1,
						Old: []Part{{Count{o, oldErrors}, 1}, {Count{1, 0}, 1}, {Count{n, newErrors}, 1}},
					})
					if err != nil {
						continue
					}
					text, _ := e.MarshalText()
					if _, err := Parse(text); err != nil {
						t.Fatalf("%v of %v, %v of %v: %v", newErrors, n, oldErrors, o, err)
					}
					if v := e.Verdict(Default()); v.Outcome != NotYet || !(v.Spread >= 1) {
						t.Fatalf("%v of %v, %v of %v: got %+v after one look", newErrors, n, oldErrors, o, v)
					}
				}
			}
		}
	}
}

// TestKeptEvidence: evidence that was kept as text gives what evidence in memory gives, at each
// look.
func TestKeptEvidence(t *testing.T) {
	inMemory, kept := New(), New()
	for i := range 300 {
		look := Look{New: Count{100, float64(i % 7)}, NewPods: 2, Old: []Part{{Count{90, float64(i % 2)}, 3}, {Count{80.5, float64((i + 1) % 2)}, 2}}}
		inMemory, _ = inMemory.Add(look)
		text, err := kept.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 800 {
			t.Fatalf("evidence takes %d characters, want at most 800", len(text))
		}
		read, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		kept, _ = read.Add(look)
		if kept != inMemory {
			t.Fatalf("look %d: kept evidence differs", i)
		}
	}
	if v := kept.Verdict(Default()); v.Outcome != Worse {
		t.Errorf("got %+v, want %s", v, Worse)
	}
}

// FuzzKeptEvidence: any text is refused, or gives evidence that can go on.
func FuzzKeptEvidence(f *testing.F) {
	e, _ := New().Add(Look{New: Count{10, 1}, NewPods: 1, Old: []Part{{Count{10, 1}, 1}, {Count{10, 2}, 1}}})
	text, _ := e.MarshalText()
	f.Add(text)
	f.Add([]byte(""))
	f.Add([]byte("AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		e, err = e.Add(Look{New: Count{10, 1}, NewPods: 1, Old: []Part{{Count{10, 1}, 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if v := e.Verdict(Default()); math.IsNaN(v.Spread) || v.Spread < 1 {
			t.Errorf("got %+v, want a spread of at least 1", v)
		}
	})
}

// TestCraftedEvidence: evidence whose numbers contradict each other gives no verdict, and no number
// that is none.
func TestCraftedEvidence(t *testing.T) {
	for _, sum := range []float32{1e6, -1e6, 1e30, -1e30} {
		e := New()
		for range 50 {
			e, _ = e.Add(Look{New: Count{100, 10}, NewPods: 2, Old: []Part{{Count{100, 1}, 1}, {Count{100, 1}, 1}}})
		}
		for i := range e.claims {
			e.claims[i].Excess.Sum = sum
		}
		text, err := e.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse(text)
		if err != nil {
			continue // refused
		}
		if v := read.Verdict(Default()); v.Outcome == Worse || v.Outcome == Fine || !(v.Spread >= 1) {
			t.Errorf("an excess of %v: got %+v, want no verdict", sum, v)
		}
	}
}

func BenchmarkVerdict(b *testing.B) {
	e := New()
	look := Look{New: Count{100, 2}, NewPods: 2}
	for range Parts {
		look.Old = append(look.Old, Part{Count{100, 2}, 1})
	}
	for b.Loop() {
		e, _ = e.Add(look)
		if e.Verdict(Default()).Outcome == Worse {
			b.Fatal("equal versions were rejected")
		}
	}
}
