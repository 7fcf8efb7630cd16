package gate

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestEveryTypeIsDecided: each type that a policy can have is known to the API, to its validation,
// to what decides gates, and to the words for people.
func TestEveryTypeIsDecided(t *testing.T) {
	t.Parallel()
	crd, err := os.ReadFile("../../config/crd/rollouts.sluice.dev_batchreleases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fields, types := reflect.TypeFor[v1alpha1.GatePolicy](), 0
	for field := range fields.Fields() {
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		types++
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		var policy v1alpha1.GatePolicy
		reflect.ValueOf(&policy).Elem().FieldByIndex(field.Index).Set(reflect.New(field.Type.Elem()))
		gateType := policy.Type()
		if string(gateType) != name {
			t.Errorf("GatePolicy.Type of a policy with %s is %q", name, gateType)
		}
		if listed := typesOf(&policy); len(listed) != 1 || listed[0] != gateType {
			t.Errorf("typesOf of a policy with %s is %q", name, listed)
		}
		if checkOf(gateType) == nil {
			t.Errorf("checkOf has nothing for %s", name)
		}
		if Words(&policy) == Words(&v1alpha1.GatePolicy{}) && gateType != v1alpha1.GateNone {
			t.Errorf("Words has none for %s", name)
		}
		if !strings.Contains(string(crd), "has(self."+name+")") {
			t.Errorf("the rule of GatePolicy that a gate has exactly one type lacks %s", name)
		}
	}
	if types < 7 {
		t.Errorf("want the fields of GatePolicy that are types, got %d", types)
	}
}
