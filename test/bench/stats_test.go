package main

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// upTo are the whole numbers from 1 to n, the largest first.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = n - i
	}
	return all
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		values []int
		p      float64
		want   int
	}{
		"One":         {"a single value is every percentile", []int{7}, 50, 7},
		"OneLowest":   {"of one value also the lowest", []int{7}, 0, 7},
		"OneHighest":  {"and the highest", []int{7}, 100, 7},
		"MedianOdd":   {"the one in the middle, whatever the order", []int{9, 1, 5}, 50, 5},
		"MedianEven":  {"of the two in the middle the worse", []int{4, 1, 3, 2}, 50, 3},
		"MedianEqual": {"equal values are values each", []int{2, 2, 9}, 50, 2},
		"Lowest":      {"nothing is below the 0th", upTo(10), 0, 1},
		"Highest":     {"nor above the 100th", upTo(10), 100, 10},
		"P99Few":      {"of few values it is the worst", upTo(9), 99, 9},
		"P99Hundred":  {"of a hundred as well, half-way as it is", upTo(100), 99, 100},
		"P99More":     {"of 101 one is worse", upTo(101), 99, 100},
		"P99Many":     {"of 600 hand-overs five are worse", upTo(600), 99, 595},
		"Fraction":    {"p need not be whole", upTo(1000), 99.9, 1000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tc.values)
			if got := percentile(tc.values, tc.p); got != tc.want {
				t.Errorf("%s: percentile %g: want %d, got %d", tc.reason, tc.p, tc.want, got)
			}
			if !slices.Equal(before, tc.values) {
				t.Errorf("the values must stay in the order of the runs: want %v, got %v", before, tc.values)
			}
		})
	}
}

// TestPercentileCounts checks what a percentile promises of any values.
func TestPercentileCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(-50, 50), 1, 300).Draw(t, "values")
		p := rapid.IntRange(0, 99).Draw(t, "p")
		got := percentile(values, float64(p))
		below, notAbove := 0, 0
		for _, v := range values {
			if v < got {
				below++
			}
			if v <= got {
				notAbove++
			}
		}
		if 100*below > p*len(values) {
			t.Errorf("want at most %d%% of %d values below %d, got %d", p, len(values), got, below)
		}
		if 100*notAbove <= p*len(values) {
			t.Errorf("want more than %d%% of %d values not above %d, got %d", p, len(values), got, notAbove)
		}
	})
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	samples := []sample{{wall: 30, plane: 1}, {wall: 10, plane: 2}, {wall: 20, plane: 3}, {wall: 20, plane: 4}}
	if got := middle(samples[:3], wallOf); got.plane != 3 {
		t.Errorf("want the whole sample with the median wall time, got %+v", got)
	}
	if got := middle(samples, wallOf); got.plane != 3 {
		t.Errorf("of equal ones the first run's is wanted, got %+v", got)
	}
}

func TestFiguresAsText(t *testing.T) {
	t.Parallel()
	cases := []struct{ reason, got, want string }{
		{"nothing", seconds(0), "0 ms"},
		{"below a second", seconds(345 * time.Millisecond), "345 ms"},
		{"rounded, not cut off", seconds(14_600 * time.Microsecond), "15 ms"},
		{"from a second on", seconds(time.Second), "1.0 s"},
		{"minutes are seconds as well, to be compared", seconds(62 * time.Second), "62.0 s"},
		{"CPU time of nothing is not known", cpuSeconds(0), "unknown"},
		{"CPU time below a second stays in seconds", cpuSeconds(40 * time.Millisecond), "0.04 s"},
		{"CPU time", cpuSeconds(78_483 * time.Millisecond), "78.48 s"},
		{"memory of nothing is not known", mebibytes(0), "unknown"},
		{"memory", mebibytes(46 << 20), "46 MiB"},
		{"half a MiB is rounded up", mebibytes(46<<20 + 1<<19), "47 MiB"},
		{"less is not", mebibytes(46<<20 + 1<<19 - 1), "46 MiB"},
		{"verbs in their order", verbs(map[string]int{"patch": 35, "create": 3, "get": 19}), "create 3, get 19, patch 35"},
		{"no verbs", verbs(nil), ""},
	}
	for _, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: want %q, got %q", tc.reason, tc.want, tc.got)
		}
	}
}
