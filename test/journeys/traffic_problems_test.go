package journeys

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drop deletes an object.
func (w *world) drop(object client.Object) {
	w.Helper()
	object.SetNamespace(w.namespace)
	if err := w.Delete(w.Context(), object); err != nil {
		w.Fatalf("delete %T: %v", object, err)
	}
}
