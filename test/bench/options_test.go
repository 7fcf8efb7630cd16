package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		want   options
		// selected are the names of the benches that are run.
		selected []string
	}{
		"None":      {"everything is run three times", nil, options{runs: 3}, []string{"B1", "B1S", "B1D", "B2", "B3", "B3S", "B3D", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "B12"}},
		"All":       {"flags take one or two dashes", []string{"-runs", "1", "--strict", "--logs=x/y", "-only=B2"}, options{runs: 1, only: []string{"B2"}, strict: true, logs: "x/y"}, []string{"B2"}},
		"Order":     {"benches are run in their own order", []string{"--only", "B5,B1,B3"}, options{runs: 3, only: []string{"B5", "B1", "B3"}}, []string{"B1", "B3", "B5"}},
		"LowerCase": {"names may be written small", []string{"--only", "b1,B6"}, options{runs: 3, only: []string{"B1", "B6"}}, []string{"B1", "B6"}},
		"Twice":     {"a bench that is named twice is run once", []string{"--only", "B4,B4"}, options{runs: 3, only: []string{"B4", "B4"}}, []string{"B4"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := parseOptions(tc.args, &out)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("%s: options (-want +got):\n%s", tc.reason, diff)
			}
			names := of(got.selected(), func(b bench) string { return b.name })
			if diff := cmp.Diff(tc.selected, names); diff != "" {
				t.Errorf("%s: benches (-want +got):\n%s", tc.reason, diff)
			}
			if out.Len() > 0 {
				t.Errorf("there is nothing to complain of: got %s", out.String())
			}
		})
	}
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		want   string // in what is told
	}{
		"UnknownBench": {"a bench that there is not would look as if it had been met", []string{"--only", "B1,B0"}, `bench: --only: there is no bench "B0"`},
		"EmptyBench":   {"an empty list is a slip, not a wish for all", []string{"--only", ""}, `bench: --only: there is no bench ""`},
		"NoRuns":       {"there is no median of nothing", []string{"--runs", "0"}, "bench: --runs must be at least 1"},
		"Negative":     {"nor of less", []string{"--runs=-1"}, "bench: --runs must be at least 1"},
		"Word":         {"a number is a number", []string{"--runs", "many"}, `invalid value "many" for flag -runs`},
		"UnknownFlag":  {"a flag that there is not", []string{"--fast"}, "flag provided but not defined: -fast"},
		"Argument":     {"what no flag takes is not silently left out", []string{"--runs", "1", "B1"}, `bench: unexpected argument "B1"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if _, err := parseOptions(tc.args, &out); err == nil {
				t.Fatalf("%s: want an error for %q, got none", tc.reason, tc.args)
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("%s: want %q to be told, got:\n%s", tc.reason, tc.want, out.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := parseOptions([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("want flag.ErrHelp, which is no mistake, got %v", err)
	}
	for _, want := range []string{"Usage: bench [flags]", "-runs", "-only B1,B3", "-strict", "-logs folder"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help must speak of %q, got:\n%s", want, out.String())
		}
	}
}

// TestExitCodeOfCommandLine has the codes of what ends before anything is measured.
func TestExitCodeOfCommandLine(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]int{"--help": 0, "--runs=0": 2, "--only=B0": 2, "--fast": 2} {
		if got := realMain([]string{arg}); got != want {
			t.Errorf("bench %s: want exit code %d, got %d", arg, want, got)
		}
	}
}
