package spec

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestEarlier: a release that comes together with a change of its workload has an earlier one, and
// no other release has.
func TestEarlier(t *testing.T) {
	t.Parallel()
	workload := func(image string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
			"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: '" + image + "'}]}}\n"
	}
	release := func(name string) string {
		return "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: " + name + "}\nspec:\n" +
			"  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  strategy: {steps: [{replicas: 100%}]}\n---\n"
	}
	own := strings.Replace(release("web"), "  strategy", "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: 'web:2'}]}}\n  strategy", 1)
	for name, tt := range map[string]struct {
		before, now string
		want        string
	}{
		"with a change":                      {workload("web:1"), release("web") + workload("web:2"), "web:1"},
		"without":                            {workload("web:1"), release("web") + workload("web:1"), ""},
		"with a template of its own":         {workload("web:1"), own + workload("web:2"), ""},
		"of a workload that is new":          {"", release("web") + workload("web:2"), ""},
		"of a workload that is there twice":  {workload("web:1") + "---\n" + workload("web:0"), release("web") + workload("web:2"), ""},
		"of one that had a release":          {release("other") + workload("web:1"), release("web") + workload("web:2"), ""},
		"of one whose release was not valid": {strings.Replace(release("web"), "100%", "nonsense", 1) + workload("web:1"), release("web") + workload("web:2"), ""},
	} {
		reader := NewReader(Options{Namespace: "shop"})
		var result *Result
		for _, text := range []string{tt.before, tt.now} {
			var err error
			if result, err = reader.Read(fstest.MapFS{"web.yaml": {Data: []byte(text)}}, "."); err != nil {
				t.Fatal(err)
			}
		}
		if len(result.Releases) != 1 {
			t.Fatalf("%s: got releases %v and errors %v", name, result.Releases, result.Errors)
		}
		earlier, got := result.Earlier[result.Releases[0]], ""
		if earlier != nil {
			containers := earlier.Object().Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"]
			got = containers.([]any)[0].(map[string]any)["image"].(string)
		}
		if got != tt.want || earlier != nil && (earlier.Name != "web" || earlier.Digest == result.Releases[0].Digest) {
			t.Errorf("a release %s: got an earlier one of %q, want %q", name, got, tt.want)
		}
		if again, err := reader.Read(fstest.MapFS{"web.yaml": {Data: []byte(tt.now)}}, "."); err != nil || len(again.Earlier) > 0 {
			t.Errorf("%s: read again: got %v, %v, want nothing earlier", name, again.Earlier, err)
		}
	}
}
