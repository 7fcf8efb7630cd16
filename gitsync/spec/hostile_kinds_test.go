package spec

import (
	"fmt"
	"strings"
	"testing"
)

// TestHostileWorkloads: a manifest of a StatefulSet or DaemonSet with values that no cluster takes
// is an error where it is read by Sluice, and else the API server's to refuse when it is created;
// nothing of it is mistaken for something else.
func TestHostileWorkloads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	edited := func(of, with string) string { return strings.Replace(statefulSet("db", "db:1", "1Gi"), of, with, 1) }
	for name, tt := range map[string]struct {
		release, workload string
		errors            []string
	}{
		"kind in lower case": {
			releaseOf("statefulset", "db", strategy), statefulSet("db", "db:1", "1Gi"),
			[]string{`a.yaml:6: spec.workloadRef: Invalid value: "apps/v1 statefulset": only apps/v1 Deployment, StatefulSet and DaemonSet can be released`},
		},
		"kind with a letter that looks the same": {
			releaseOf("StatefulЅet", "db", strategy), statefulSet("db", "db:1", "1Gi"),
			[]string{"a.yaml:6: spec.workloadRef: Invalid value: "},
		},
		"workload in lower case": {
			releaseOf("StatefulSet", "db", strategy), edited("kind: StatefulSet", "kind: statefulset"),
			[]string{"a.yaml:1: spec.template is missing, and StatefulSet shop/db, whose template it would be, is not in the repository"},
		},
		"workload of another version": {
			releaseOf("StatefulSet", "db", strategy), edited("apps/v1", "apps/v1beta2"),
			[]string{"a.yaml:1: spec.template is missing, and StatefulSet shop/db, whose template it would be, is not in the repository"},
		},
		"two documents of one workload": {
			releaseOf("StatefulSet", "db", strategy), statefulSet("db", "db:1", "1Gi") + "---\n" + statefulSet("db", "db:2", "1Gi"),
			[]string{"a.yaml:1: StatefulSet shop/db is in d.yaml:1 and in d.yaml:21"},
		},
		"template that is a list": {
			releaseOf("StatefulSet", "db", strategy), "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {template: []}\n",
			[]string{"d.yaml:4: spec.template: must be"},
		},
		"claims that are no list": {
			releaseOf("StatefulSet", "db", strategy), edited("volumeClaimTemplates:\n  - metadata: {name: data}\n    spec:", "volumeClaimTemplates:\n    x:"),
			[]string{"d.yaml:10: spec.volumeClaimTemplates: must be a list"},
		},
		"spec that is a text": {
			releaseOf("DaemonSet", "db", strategy), "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: db}\nspec: all\n",
			[]string{"a.yaml:1: spec.template is missing", "d.yaml:4: spec: must be an object"},
		},
		"steps beyond all pods": {
			releaseOf("DaemonSet", "db", "strategy: {maxUnavailable: 2147483648, steps: [{replicas: 100%}]}\n"), daemonSet("db", "db:1"),
			[]string{"a.yaml:7: spec.strategy.maxUnavailable: "},
		},
		"annotation of a workload that is held": {
			releaseOf("StatefulSet", "db", strategy), edited("  uid: 6f1c2d3e", `  annotations: {rollouts.sluice.dev/hold: '{"release":"db"}', rollouts.sluice.dev/break-glass: x}`),
			[]string{
				"d.yaml:5: metadata.annotations: Forbidden: rollouts.sluice.dev/break-glass can't come from Git",
				"d.yaml:5: metadata.annotations: Forbidden: rollouts.sluice.dev/hold can't come from Git",
			},
		},
		"annotations that are a list": {
			releaseOf("StatefulSet", "db", strategy), edited("  uid: 6f1c2d3e", "  annotations: [rollouts.sluice.dev/hold]"),
			[]string{"a.yaml:1: spec.template is missing", "d.yaml:5: metadata.annotations: must be an object, not a list"},
		},
		"a key that is given twice": {
			releaseOf("StatefulSet", "db", strategy), edited("replicas: 10", "replicas: 10\n  replicas: 11"),
			[]string{"a.yaml:1: spec.template is missing", "d.yaml:"},
		},
		"a merge key that makes it another kind": {
			releaseOf("StatefulSet", "db", strategy), edited("kind: StatefulSet", "x: &x {kind: DaemonSet}\n<<: *x"),
			[]string{"a.yaml:1: spec.template is missing, and StatefulSet shop/db, whose template it would be, is not in the repository; the DaemonSet of that name"},
		},
		"long name of a workload": {
			strings.Replace(releaseOf("StatefulSet", "db", strategy), "name: db}", "name: "+long+"x}", 1), statefulSet("db", "db:1", "1Gi"),
			[]string{"a.yaml:6: spec.workloadRef.name: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"a.yaml": tt.release, "d.yaml": tt.workload})
			wantErrors(t, result, tt.errors...)
			if len(result.Releases) > 0 {
				t.Errorf("want nothing released, got %d releases", len(result.Releases))
			}
		})
	}
}

// TestManyReleasesWithoutAWorkload: the message for a release without a workload is found without
// a search of all others.
func TestManyReleasesWithoutAWorkload(t *testing.T) {
	t.Parallel()
	const perFile, files = 1_000, 8
	tree := map[string]string{}
	for i := range files {
		var releases, workloads strings.Builder
		for j := range perFile {
			releases.WriteString("---\n" + release(fmt.Sprintf("r%d-%d", i, j), strategy))
			fmt.Fprintf(&workloads, "---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: w%d-%d}}\n", i, j)
		}
		tree[fmt.Sprintf("r%d.yaml", i)], tree[fmt.Sprintf("w%d.yaml", i)] = releases.String(), workloads.String()
	}
	result := read(t, tree)
	if len(result.Releases) > 0 || len(result.Errors) < maxErrors {
		t.Errorf("%d releases and %d errors, want errors alone", len(result.Releases), len(result.Errors))
	}
}
