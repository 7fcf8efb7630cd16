package journeys

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// meets wants the release to be kept by a problem of its traffic with an object, which its
// conditions name.
func meets(problem v1alpha1.TrafficProblemType, object string) check {
	return func(s *scene) error {
		release := s.releases["web"]
		if release == nil {
			return fmt.Errorf("want release web")
		}
		if told := release.Status.Traffic; told == nil || told.Problem == nil || told.Problem.Type != problem {
			return fmt.Errorf("want problem %s in the status, have %+v", problem, told)
		}
		stalled := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || !strings.HasPrefix(stalled.Message, object+": ") {
			return fmt.Errorf("want condition Stalled to name %s, have %+v", object, stalled)
		}
		return nil
	}
}

// drop deletes an object.
func (w *world) drop(object client.Object) {
	w.Helper()
	object.SetNamespace(w.namespace)
	if err := w.Delete(w.Context(), object); err != nil {
		w.Fatalf("delete %T: %v", object, err)
	}
}
