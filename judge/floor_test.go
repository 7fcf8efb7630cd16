package judge

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestMeanOfFloors: while the rate of errors is the floor's, or further off, nothing speaks against
// that in the mean, by exact enumeration.
func TestMeanOfFloors(t *testing.T) {
	for n := 1.0; n <= 20; n++ {
		for _, floor := range []float64{0.001, 0.01, 0.3} {
			for _, times := range []float64{1, 1.5, 3} {
				for name, tc := range map[string]struct {
					rate    float64
					tempers []float64
				}{
					"below": {floor * times, belowFloor[:]},
					"above": {floor / times, aboveFloor[:]},
				} {
					mean := 0.0
					for _, o := range binomial(n, tc.rate) {
						mean += o.chance * wealthAgainst(floor, Count{n, o.value}, 1, tc.tempers)
					}
					if mean > 1+1e-9 {
						t.Errorf("%s a floor of %v, %v requests, rate %v: the mean is %v, want at most 1", name, floor, n, tc.rate, mean)
					}
				}
			}
		}
	}
}

// TestQuietService: a service without errors says nothing about the ratio, but passes its floor.
func TestQuietService(t *testing.T) {
	e := New()
	rules := Default()
	rules.Floor = 0.001
	look := Look{New: Count{100, 0}, NewPods: 1, Old: []Part{{Count{900, 0}, 9}}}
	for range 20 {
		e, _ = e.Add(look)
	}
	if got := e.Verdict(rules).Outcome; got != NotYet {
		t.Errorf("after 2,000 requests: got %s, want %s", got, NotYet)
	}
	for range 40 {
		e, _ = e.Add(look)
	}
	if got := e.Verdict(rules).Outcome; got != Fine {
		t.Errorf("after 6,000 requests: got %s, want %s", got, Fine)
	}
	if got := e.Verdict(Default()).Outcome; got != NotYet {
		t.Errorf("without a floor: got %s, want %s", got, NotYet)
	}
}

// TestWorseBelowTheFloor: ten times the errors of the old version are fine below the floor, and are
// not above it.
func TestWorseBelowTheFloor(t *testing.T) {
	for floor, want := range map[float64]Outcome{0: Worse, 0.001: Worse, 0.1: Fine} {
		e := New()
		rules := Default()
		rules.Floor = floor
		for range 400 {
			e, _ = e.Add(Look{New: Count{500, 10}, NewPods: 5, Old: []Part{{Count{250, 0}, 2}, {Count{250, 1}, 3}}})
		}
		if v := e.Verdict(rules); v.Outcome != want {
			t.Errorf("floor %v: got %+v, want %s", floor, v, want)
		}
	}
}

func TestRules(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Error(err)
	}
	if got := Default().Among(5).Alpha; math.Abs(got-0.002) > 1e-12 {
		t.Errorf("got alpha %v for each of 5 metrics, want 0.002", got)
	}
	for _, change := range []func(*Rules){
		func(r *Rules) { r.Alpha = 0 },
		func(r *Rules) { r.Beta = 1 },
		func(r *Rules) { r.Beta = math.NaN() },
		func(r *Rules) { r.Worse = 1 },
		func(r *Rules) { r.Worse = 2.2 },
		func(r *Rules) { r.Floor = 1 },
		func(r *Rules) { r.Floor = math.NaN() },
	} {
		r := Default()
		change(&r)
		if r.Check() == nil {
			t.Errorf("%+v is accepted", r)
		}
		if v := certain().Verdict(r); v.Outcome != NotYet {
			t.Errorf("%+v: got %s, want %s", r, v.Outcome, NotYet)
		}
	}
}

// certain returns evidence that rejects a version by any rules.
func certain() Evidence {
	e := New()
	for range 400 {
		e, _ = e.Add(Look{New: Count{500, 100}, NewPods: 50, Old: []Part{{Count{250, 1}, 25}, {Count{250, 1}, 25}}})
	}
	return e
}

func TestHistogram(t *testing.T) {
	h := Histogram{Bounds: []float64{0.1, 0.25, 0.5, 1, math.Inf(1)}, Counts: []float64{600, 880, 950, 995, 1000}}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	if got, want := h.JudgedBounds(), []float64{0.1, 0.5, 1}; !slices.Equal(got, want) {
		t.Errorf("got bounds %v, want %v", got, want)
	}
	if got, err := h.Slower(0.5); err != nil || got != (Count{1000, 50}) {
		t.Errorf("got %v, %v; want 50 slower requests of 1000", got, err)
	}
	if _, err := h.Slower(0.7); err == nil {
		t.Error("a bound that no bucket has is accepted")
	}
	fast := Histogram{Bounds: h.Bounds, Counts: []float64{1000, 1000, 1000, 1000, 1000}}
	if got := fast.JudgedBounds(); !slices.Equal(got, []float64{0.1}) {
		t.Errorf("got bounds %v, want the least: no request of the old version is slower", got)
	}
	for name, bad := range map[string]Histogram{
		"empty":         {},
		"lengths":       {Bounds: h.Bounds, Counts: h.Counts[1:]},
		"no +Inf":       {Bounds: h.Bounds[:4], Counts: h.Counts[:4]},
		"falling count": {Bounds: h.Bounds, Counts: []float64{600, 500, 950, 995, 1000}},
		"falling bound": {Bounds: []float64{0.1, 0.1, 0.5, 1, math.Inf(1)}, Counts: h.Counts},
		"below 0":       {Bounds: h.Bounds, Counts: []float64{-1, 880, 950, 995, 1000}},
		"infinite":      {Bounds: h.Bounds, Counts: []float64{600, 880, 950, 995, math.Inf(1)}},
		"not a number":  {Bounds: h.Bounds, Counts: []float64{600, math.NaN(), 950, 995, 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			if bad.Check() == nil {
				t.Error(fmt.Sprint(bad, " is accepted"))
			}
		})
	}
}
