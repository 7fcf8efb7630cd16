package journeys

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// meets wants the release to be kept by a problem of its traffic with an object, which its conditions name.
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

// What keeps requests from being shared keeps the release from beginning, and is told; once it is gone, the release goes on by itself.
func TestTrafficProblems(t *testing.T) {
	type fix func(w *world)
	for name, test := range map[string]struct {
		problem v1alpha1.TrafficProblemType
		object  string // with its namespace left out
		begin   fix
		after   fix
	}{
		"route missing": {
			v1alpha1.TrafficRouteNotFound, "HTTPRoute %s/web",
			func(w *world) { w.drop(httpRoute()) },
			func(w *world) { w.create(httpRoute()) },
		},
		"service missing": {
			v1alpha1.TrafficServiceNotFound, "Service %s/web",
			func(w *world) { w.drop(userService()) },
			func(w *world) { w.create(userService()) },
		},
		"service of others": {
			v1alpha1.TrafficNameTaken, "Service %s/web-canary",
			func(w *world) {
				taken := userService()
				taken.Name = "web-canary"
				w.create(taken)
			},
			func(w *world) {
				taken := userService()
				taken.Name = "web-canary"
				w.drop(taken)
			},
		},
		"route of another Service": {
			v1alpha1.TrafficServiceNotNamed, "HTTPRoute %s/web",
			func(w *world) { w.routeTo("shop") },
			func(w *world) { w.routeTo("web") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrafficWorld(t)
			w.startController()
			w.deployed(deployment(4, rolling(1, 0)))
			before := w.routed()
			test.begin(w)
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%")))
			w.await(all(meets(test.problem, fmt.Sprintf(test.object, w.namespace)), web.runs(pods{"web:1": 4})))
			test.after(w)
			w.await(all(web.blocksAt(0), gets(50)))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:2", 4), givenBack(before)))
		})
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

// routeTo has the route's second rule refer to a Service.
func (w *world) routeTo(service string) {
	w.Helper()
	route := httpRoute()
	route.SetNamespace(w.namespace)
	patch := client.RawPatch(types.JSONPatchType, []byte(fmt.Sprintf(`[{"op":"replace","path":"/spec/rules/1/backendRefs/0/name","value":%q}]`, service)))
	if err := w.Patch(w.Context(), route, patch); err != nil {
		w.Fatalf("patch route: %v", err)
	}
}
