package journeys

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The status of a release tells of its hand-back only if its end takes long. Somebody writes the release in that moment: it ends as it would
// have, with one take-over. If it is deleted then, what all pods run stays, also where the workload's own strategy is the one with which
// Sluice holds it.
func TestReleaseWrittenAsItEnds(t *testing.T) {
	kinds := inPlaces()
	kinds["OnDelete"] = inPlace{"DaemonSet", func(w *world, pods int) client.Object {
		w.ownNodes(pods)
		return w.daemonSet(func(d *appsv1.DaemonSet) {
			d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		})
	}, (*world).onEachOwnNode}
	edited := func(patch string) func(*world) error {
		return func(w *world) error {
			w.edit(named[v1alpha1.BatchRelease]("web"), mergePatch(patch), "kubectl-patch")
			return nil
		}
	}
	reported := func(w *world) error {
		patch := mergePatch(`{"status":{"report":{"commit":"c","context":"sluice/web","state":"pending","description":"batch 1/1"}}}`)
		return w.Status().Patch(w.Context(), w.mine(named[v1alpha1.BatchRelease]("web")), patch)
	}
	for kind, p := range kinds {
		for name, c := range map[string]struct {
			write func(*world) error
			ends  check
		}{
			"Reported":  {reported, all(web.completed, web.serves("web:2", 4))},
			"Annotated": {edited(`{"metadata":{"annotations":{"look":"again"}}}`), all(web.completed, web.serves("web:2", 4))},
			"Suspended": {edited(`{"spec":{"suspend":true}}`), all(web.completed, web.serves("web:2", 4))},
			"Deleted":   {(*world).deleteRelease, all(nothingOfOurs, web.serves("web:2", 4))},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				takeOvers, handedBack, written := 0, false, false
				var mu sync.Mutex
				w.startControllerUntil(func(r *http.Request) moment {
					mu.Lock()
					defer mu.Unlock()
					if r.Method != http.MethodPatch || strings.Contains(r.URL.RawQuery, "dryRun") {
						return goOn
					}
					switch body := bodyOf(w, r); {
					case strings.Contains(body, `"/spec/template"`):
						takeOvers++
					case strings.Contains(body, "~1hold") && strings.Contains(body, `"remove"`):
						handedBack = true
					case handedBack && !written && strings.Contains(r.URL.Path, "/batchreleases/"):
						written = true
						if err := c.write(w); err != nil {
							w.Errorf("write the release: %v", err)
						}
					}
					return goOn
				})
				before := p.begin(w)
				w.create(releaseTo(p.kind, p.template(w, "web:2", nil), step("100%")))
				w.wantUntouched(before, all(c.ends, runsTemplate("web:2")))
				mu.Lock()
				defer mu.Unlock()
				if takeOvers != 1 || !written {
					t.Errorf("want the release written once, and the template too: %t, %d times", written, takeOvers)
				}
			})
		}
	}
}

// bodyOf is what a request sends; it can still be sent.
func bodyOf(w *world, request *http.Request) string {
	body, err := request.GetBody()
	if err != nil {
		w.Errorf("get the body of %s: %v", request.URL, err)
		return ""
	}
	text, err := io.ReadAll(body)
	if err != nil {
		w.Errorf("read the body of %s: %v", request.URL, err)
	}
	return string(text)
}

// runsTemplate wants the template of the workload to be the one with an image.
func runsTemplate(image string) check {
	return func(s *scene) error {
		if workload := s.workload("web"); workload == nil || templateOf(workload).Spec.Containers[0].Image != image {
			return fmt.Errorf("want the workload to have the template with %s", image)
		}
		return nil
	}
}
