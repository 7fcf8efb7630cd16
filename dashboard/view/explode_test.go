package view

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTemplatesThatExplode: an author of ControllerRevisions can store templates that are no pod
// templates: a small one that is a gigabyte as indented YAML, and one as large as the API server
// accepts. Neither is converted to YAML, and nesting inside a string does not count.
func TestTemplatesThatExplode(t *testing.T) {
	t.Parallel()
	deep := func(depth int) string { return strings.Repeat(`{"a":`, depth) + `"["` + strings.Repeat("}", depth) }
	for name, c := range map[string]struct {
		raw   string
		lines bool
	}{
		"a template": {deep(deepest), true},
		"deep":       {deep(deepest + 1), false},
		"very deep":  {deep(9900), false},
		"deep lists": {`{"a":` + strings.Repeat("[", 9900) + strings.Repeat("]", 9900) + "}", false},
		"large":      {`{"a":"` + strings.Repeat("x", mostTemplate) + `"}`, false},
		"texts":      {`{"a":"` + strings.Repeat(`[{\"`, 100) + `"}`, true},
	} {
		kept := []appsv1.ControllerRevision{templateOf("v1", `{"a":1}`), templateOf("v2", c.raw)}
		shown, _ := DiffOf(&v1alpha1.BatchRelease{}, kept, "v1", "v2")
		if shown == nil || len(shown.Lines) > 0 != c.lines || shown.Note == "" != c.lines {
			t.Errorf("%s: %+v", name, shown)
		}
	}
}

func templateOf(revision, raw string) appsv1.ControllerRevision {
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.RevisionLabel: revision}}, Data: runtime.RawExtension{Raw: []byte(raw)},
	}
}
