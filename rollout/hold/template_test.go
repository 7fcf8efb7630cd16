package hold_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/rollout/hold"
)

// TestTemplateOfSetKeepsNewerFields: a workload that goes back to the template of a ReplicaSet gets
// all of it but the hash label.
func TestTemplateOfSetKeepsNewerFields(t *testing.T) {
	t.Parallel()
	set := &unstructured.Unstructured{}
	text := `{"spec":{"template":{"metadata":{"labels":{"app":"web","pod-template-hash":"abc"}},"spec":{"fieldOfTomorrow":{"a":1}}}}}`
	if err := json.Unmarshal([]byte(text), &set.Object); err != nil {
		t.Fatal(err)
	}
	template, err := hold.TemplateOfSet(set)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"labels":{"app":"web"}},"spec":{"fieldOfTomorrow":{"a":1}}}`
	if diff := cmp.Diff(want, string(template)); diff != "" {
		t.Errorf("template of the ReplicaSet (-want +got):\n%s", diff)
	}
}
