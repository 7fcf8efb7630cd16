package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimulate plays releases of files through.
func TestSimulate(t *testing.T) {
	t.Parallel()
	web := strings.Replace(lintedDeployment, "spec:\n", "spec:\n  replicas: 4\n", 1) + "---\n" + lintedRelease
	inline := lintedRelease + "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}\n"
	ordinals := strings.ReplaceAll(web, "kind: Deployment", "kind: StatefulSet")
	nodes := strings.ReplaceAll(web, "kind: Deployment", "kind: DaemonSet")
	nodes = strings.Replace(nodes, "  replicas: 4\n", "", 1)
	root := writeFiles(t, map[string]string{
		"ordinals/web.yaml": ordinals,
		"nodes/web.yaml":    nodes,
		"lone/web.yaml":     strings.ReplaceAll(inline, "kind: Deployment", "kind: StatefulSet"),
		"anywhere/web.yaml": strings.ReplaceAll(inline, "kind: Deployment", "kind: DaemonSet"),
		"zones.yaml":        "nodes: [{count: 2, labels: {zone: b}}, {count: 1, labels: {zone: a}}]\n",
		"one/web.yaml":      web,
		"two/web.yaml":      web,
		"two/api.yaml":      strings.ReplaceAll(web, "name: web", "name: api"),
		"alone/web.yaml":    inline,
		"broken/web.yaml":   "a: [ # BatchRelease\n",
		"met.yaml":          "events: [{at: 1m, expect: {new: 1}}]\n",
		"unmet.yaml":        "events: [{at: 1m, expect: {new: 2}}]\n",
		"odd.yaml":          "evnts: []\n",
		"three.yaml":        "replicas: 3\n",
	})
	cases := map[string]struct {
		reason         string
		path           string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"NoTrace":    {"each step is approved soon", "one", nil, exitOK, "Completed", ""},
		"JSON":       {"programs get one object", "one", []string{"-o", "json"}, exitOK, `"phase": "Completed"`, ""},
		"Met":        {"what is expected comes true", "one", []string{"--trace", "met.yaml"}, exitOK, "4     3    1    4", ""},
		"Unmet":      {"or is told, and fails", "one", []string{"--trace", "unmet.yaml"}, exitError, "not as expected at 1m0s: new is 1, not 2", "did not come true"},
		"Named":      {"one of several is named", "two", []string{"--release", "shop/api"}, exitOK, "Completed", ""},
		"Several":    {"and must be", "two", nil, exitUsage, "", "shop/api, shop/web"},
		"Unknown":    {"a name must be there", "two", []string{"--release", "db"}, exitError, "", "there is no release db"},
		"NoReplicas": {"pods must be counted", "alone", nil, exitError, "", "say in a trace how many replicas"},
		"Replicas":   {"by a trace, too", "alone", []string{"--trace", "three.yaml"}, exitOK, "Waiting", ""},
		"Ordinals":   {"a StatefulSet goes from the highest ordinal down", "ordinals", nil, exitOK, "open the partition to 3", ""},
		"Lone":       {"its pods must be counted, too", "lone", nil, exitError, "", "the StatefulSet is not in the repository: say in a trace how many replicas"},
		"Nodes":      {"a DaemonSet goes node by node", "nodes", []string{"--nodes", "3"}, exitOK, "3     2    0    2          1/2    Rolling    replace web-n01", ""},
		"Default":    {"it is said how many nodes are assumed", "anywhere", nil, exitOK, "note: there are 10 nodes, by default", ""},
		"Zones":      {"a trace tells of nodes, too", "nodes", []string{"--trace", "zones.yaml"}, exitOK, "1/2    Waiting  open gate web-v2-1-0-0 (manual)", ""},
		"NoNodes":    {"of a DaemonSet only", "one", []string{"--nodes", "3"}, exitError, "", "use replicas"},
		"Fewer":      {"and not how many replicas there are", "nodes", []string{"--trace", "three.yaml"}, exitError, "", "use nodes"},
		"Less":       {"at least one", "nodes", []string{"--nodes", "-1"}, exitUsage, "", "--nodes"},
		"TooMany":    {"and not too many", "nodes", []string{"--nodes", "100000"}, exitUsage, "", "--nodes"},
		"Broken":     {"what is at fault can't be played", "broken", nil, exitError, "", "web.yaml:1: broken YAML"},
		"NoSuch":     {"a trace must be there", "one", []string{"--trace", "none.yaml"}, exitError, "", "read trace"},
		"Odd":        {"and make sense", "one", []string{"--trace", "odd.yaml"}, exitError, "", "unknown field"},
		"NoFormat":   {"formats are few", "one", []string{"-o", "xml"}, exitUsage, "", "not one of text, json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"simulate", filepath.Join(root, tc.path)}
			for _, arg := range tc.args {
				if strings.HasSuffix(arg, ".yaml") {
					arg = filepath.Join(root, arg)
				}
				args = append(args, arg)
			}
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), args, &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s%s", tc.reason, tc.code, code, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
		})
	}
}
