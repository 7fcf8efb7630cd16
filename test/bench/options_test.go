package main

import (
	"bytes"
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
