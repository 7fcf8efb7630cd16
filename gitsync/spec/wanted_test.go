package spec

import "testing"

// TestWantedOfAChart: of a large repository all files of the chart are fetched, and of others the
// manifests.
func TestWantedOfAChart(t *testing.T) {
	t.Parallel()
	chart, plain := &Wanted{Folder: "web", Whole: true}, &Wanted{Folder: "web"}
	for file, want := range map[string][2]bool{
		"web/templates/_helpers.tpl": {true, false}, "web/charts/redis-1.2.3.tgz": {true, false}, "web/.helmignore": {true, false},
		"web/values.yaml": {true, true}, "website/x.tpl": {false, false}, "envs/production.yaml": {false, false},
	} {
		if got := [2]bool{chart.Reads()(file), plain.Reads()(file)}; got != want {
			t.Errorf("%s: want %v as a chart and as manifests, got %v", file, want, got)
		}
	}
	chart.Miss([]string{"envs/production.yaml"})
	if !chart.Reads()("envs/production.yaml") {
		t.Error("a file of values that was missed is not fetched")
	}
}
