package route

import (
	"os"
	"slices"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestEveryKindOfRouteIsKnown: each kind that the API server takes is read and shared, and no
// other.
func TestEveryKindOfRouteIsKnown(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../config/crd/rollouts.sluice.dev_batchreleases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	at := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range []string{"spec", "strategy", "traffic", "routes"} {
		at = at.Properties[name]
	}
	var taken []v1alpha1.TrafficRouteKind
	for _, value := range at.Items.Schema.Properties["kind"].Enum {
		var kind v1alpha1.TrafficRouteKind
		if err := yaml.Unmarshal(value.Raw, &kind); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, kind)
	}
	known := slices.Sorted(slices.Values(Kinds))
	if slices.Sort(taken); !slices.Equal(taken, known) {
		t.Errorf("the API server takes the kinds %q, and Kinds has %q", taken, known)
	}
	for _, kind := range Kinds {
		if KindOf(kind) == nil || GroupVersionKind(kind).Kind != string(kind) {
			t.Errorf("%s has no Kind", kind)
		}
	}
}
