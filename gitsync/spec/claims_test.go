package spec

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// TestClaimsRefusedIsShort: thousands of volume claim templates, with names of any length, don't
// fill the status.
func TestClaimsRefusedIsShort(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("%d-%s", i, strings.Repeat("x", 5000)))
	}
	got := ClaimsRefused("db", names)
	if len(got) > 1000 || !strings.Contains(got, "4997 more") {
		t.Errorf("want a short message that says how many others there are, got %d bytes: %.200s", len(got), got)
	}
	if got := ClaimsRefused("db", []string{"a", "b"}); !strings.Contains(got, "differ from the cluster's (a, b): ") {
		t.Errorf("want both named, got %s", got)
	}
}

// TestClaimsPlace: an error of volume claim templates has their line, whichever tool builds the
// StatefulSet.
func TestClaimsPlace(t *testing.T) {
	t.Parallel()
	set := "# the database\n" + statefulSet("db", "db:1", "1Gi")
	before, _, _ := strings.Cut(set, "volumeClaimTemplates")
	line := 1 + strings.Count(before, "\n")
	files := map[string]string{"release.yaml": releaseOf("StatefulSet", "db", strategy), "set.yaml": set}
	for name, more := range map[string]string{"files": "", "kustomization": "resources: [release.yaml, set.yaml]\nnamePrefix: my-\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := maps.Clone(files)
			if more != "" {
				all["kustomization.yaml"] = more
			}
			result := read(t, all)
			wantErrors(t, result)
			if got, want := result.Releases[0].ClaimsPlace(), (Place{"set.yaml", line}); got != want {
				t.Errorf("the volume claim templates are said to stand at %v, want %v", got, want)
			}
		})
	}
	without := read(t, map[string]string{"release.yaml": files["release.yaml"], "set.yaml": as("StatefulSet", "db", "db:1", "serviceName: db")})
	if got := without.Releases[0].ClaimsPlace(); got.File != "set.yaml" || got.Line == 0 {
		t.Errorf("a StatefulSet that has none is said to stand at %v", got)
	}
	alone := read(t, map[string]string{"release.yaml": releaseOf("StatefulSet", "db", strategy+template)})
	if got := alone.Releases[0].ClaimsPlace(); got != (Place{}) {
		t.Errorf("volume claim templates that are not in the repository are said to stand at %v", got)
	}
}
