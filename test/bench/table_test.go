package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		report report
		want   string
	}{
		"Columns": {
			"a column that no row has something in is not there",
			report{rows: []row{{label: "a", sluice: "1"}, {label: "b", sluice: "2", wanted: "<= 1", verdict: missed}}},
			"B0  title\n" +
				"      Sluice   wanted\n" +
				"  a   1\n" +
				"  b   2        <= 1     MISSED\n\n",
		},
		"Gaps": {
			"cells stay in their column where others have none",
			report{rows: []row{{label: "a", native: "10.0 s", argo: "x"}, {label: "longer", sluice: "1", kruise: "y"}}},
			"B0  title\n" +
				"           native   Sluice   Argo Rollouts 1.9 *   Kruise Rollouts 0.6 *\n" +
				"  a        10.0 s            x\n" +
				"  longer            1                              y\n\n",
		},
		"LabelsOnly": {
			"nothing follows the last cell",
			report{rows: []row{{label: "a"}, {label: "longer"}}},
			"B0  title\n\n  a\n  longer\n\n",
		},
		"Runes": {
			"what is not ASCII takes one place",
			report{rows: []row{{label: "ä", sluice: "1"}, {label: "b", sluice: "2"}}},
			"B0  title\n      Sluice\n  ä   1\n  b   2\n\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, printed(t, tc.report, "B0", "title")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSuite: the command line, the tables and the docs depend on this list of benches.
func TestSuite(t *testing.T) {
	t.Parallel()
	want := []string{"B1", "B1S", "B1D", "B2", "B3", "B3S", "B3D", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "B12"}
	if diff := cmp.Diff(want, of(benches, func(b bench) string { return b.name })); diff != "" {
		t.Errorf("benches (-want +got):\n%s", diff)
	}
	for _, b := range benches {
		if b.title == "" || b.run == nil {
			t.Errorf("%s needs a title and something to run", b.name)
		}
	}
}
