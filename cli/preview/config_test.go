package preview_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/internal/plain"
)

// configured returns a repository whose release has a ConfigMap and a Secret.
func configured(config, keys string) files {
	return files{
		"web.yaml": strings.Replace(deployment, "env: [", "envFrom: [{configMapRef: {name: app}}, {secretRef: {name: keys}}]\n        env: [", 1),
		"r.yaml":   strings.Replace(release, "  strategy:", "  config: [{configMap: app}, {secret: keys}]\n  strategy:", 1),
		"app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n" + config,
		"key.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n" + keys,
	}
}

// TestConfig: a plan shows the lines of a ConfigMap that differ, and of a Secret the keys.
func TestConfig(t *testing.T) {
	t.Parallel()
	const file = "data:\n  LEVEL: info\n  OLD: x\n  app.conf: |\n    first\n    second\n    third\nbinaryData: {icon: AAAA}\n"
	base := configured(file, "stringData: {token: hidden-one, same: hidden-same}\n")
	other := strings.NewReplacer("info", "debug", "  OLD: x\n", "  NEW: z\n", "second", "2nd\n    `more`", "AAAA", "BBBB").Replace(file)
	shown, err := preview.Compare(at(t, "a", base), at(t, "b", configured(other, "stringData: {token: hidden-two, same: hidden-same, more: hidden-three}\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	change := shown.Releases[0]
	want := []string{
		"ConfigMap app: LEVEL differs", "- info", "+ debug",
		"ConfigMap app: NEW is added", "+ z",
		"ConfigMap app: OLD is removed", "- x",
		"ConfigMap app: app.conf differs", "- second", "+ 2nd", "+ `more`",
		"ConfigMap app: icon differs",
		"Secret keys: more is added", "Secret keys: token differs",
	}
	if diff := cmp.Diff(want, change.Config); diff != "" || change.Kind != preview.Released {
		t.Errorf("%s (-want +got):\n%s", change.Kind, diff)
	}
	for _, note := range change.Notes {
		if strings.Contains(note, "rules change") {
			t.Errorf("want no other rules, got %q", note)
		}
	}
	for _, format := range preview.Formats {
		var text strings.Builder
		if err := shown.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "hidden") {
			t.Errorf("%s has the content of a Secret:\n%s", format, text.String())
		}
		if format != plain.JSON && !strings.Contains(text.String(), "app.conf differs") {
			t.Errorf("%s does not say what differs:\n%s", format, text.String())
		}
	}

	without := base.with(files{"r.yaml": strings.Replace(base["r.yaml"], ", {secret: keys}", "", 1)})
	for reason, tt := range map[string]struct{ before, after files }{
		"Secret keys: is no longer released with the template":   {base, without},
		"Secret keys: is released with the template from now on": {without, base},
		"Secret keys: its type differs":                          {base, base.with(files{"key.yaml": base["key.yaml"] + "type: example.com/keys\n"})},
	} {
		shown, err := preview.Compare(at(t, "a", tt.before), at(t, "b", tt.after), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{reason}, shown.Releases[0].Config); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
