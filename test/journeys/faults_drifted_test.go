package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Somebody who resumes the Deployment at any moment, or takes our annotation off it, means nothing while it is not
// held. While it is, that is put back, and once it is acknowledged the release comes to the end that it would have had (F11).
func TestMeddlingAtAnyMoment(t *testing.T) {
	cases := map[string]string{
		"Resume": `{"spec":{"paused":false}}`,
		"Strip":  `{"metadata":{"annotations":{"` + v1alpha1.HoldAnnotation + `":null}}}`,
	}
	for name, patch := range cases {
		t.Run(name, func(t *testing.T) {
			s := scenario{
				happens: func(w *world) { w.patchWorkload(patch) },
				excused: func(string) bool { return true }, // what is lost is lost by whom has done it
				extra:   turnedBack,
			}
			s.sweep(t)
		})
	}
}

// patchWorkload changes the Deployment "web" out of band.
func (w *world) patchWorkload(patch string) {
	w.Helper()
	if err := w.Patch(w.Context(), w.mine(named[appsv1.Deployment]("web")), mergePatch(patch)); err != nil {
		w.Fatalf("change the Deployment: %v", err)
	}
}
