package journeys

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTrafficWebhookDoesNotAnswer: a release reports a webhook that keeps it from writing routes or
// Services, at each moment of it. It goes on seconds after the webhook is gone.
func TestTrafficWebhookDoesNotAnswer(t *testing.T) {
	const (
		routes   = `{apiGroups: [gateway.networking.k8s.io], apiVersions: [v1], operations: [UPDATE], resources: [httproutes]}`
		services = `{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [services]}`
	)
	touchRoute := func(w *world) func() error {
		return func() error {
			route := httpRoute()
			route.SetNamespace(w.namespace)
			return w.Patch(w.Context(), route, mergePatch(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll)
		}
	}
	touchService := func(w *world) func() error {
		return func() error {
			service := &corev1.Service{}
			service.Namespace, service.Name = w.namespace, "web"
			return w.Patch(w.Context(), service, mergePatch(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll)
		}
	}
	told := web.refused("", "policy.example.com")
	for name, journey := range map[string]func(w *world, before any){
		"services at the beginning": func(w *world, before any) {
			end := w.noAnswerFor(services, touchService(w))
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(told)
			w.within(goesOn, end, web.takenOver)
			w.await(all(web.blocksAt(0), gets(50)))
		},
		"route at the beginning": func(w *world, before any) {
			end := w.noAnswerFor(routes, touchRoute(w))
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(told)
			w.within(goesOn, end, gets(0))
			w.await(all(web.blocksAt(0), gets(50)))
		},
		"route after a gate": func(w *world, before any) {
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(all(web.blocksAt(0), gets(50)))
			end := w.noAnswerFor(routes, touchRoute(w))
			w.confirm("web")
			w.await(told)
			w.within(goesOn, end, gets(100))
		},
		"route in a rollback": func(w *world, before any) {
			w.create(keepsOld(sharing("web:2", stepOf("100%", "50%"), stepOf("100%", "100%", manual()))))
			w.await(all(web.blocksAt(0), gets(50)))
			end := w.noAnswerFor(routes, touchRoute(w))
			w.rollBack()
			w.await(told)
			w.within(goesOn, end, gets(0))
			w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, ""), givenBack(before)))
		},
		"route at the end": func(w *world, before any) {
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(all(web.blocksAt(0), gets(50)))
			w.confirm("web")
			w.await(all(web.blocksAt(1), gets(100)))
			end := w.noAnswerFor(routes, touchRoute(w))
			w.confirm("web")
			w.await(told)
			w.within(goesOn, end, web.completed)
			w.await(givenBack(before))
		},
		"services after the end": func(w *world, before any) {
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(all(web.blocksAt(0), gets(50)))
			w.confirm("web")
			w.await(all(web.blocksAt(1), gets(100)))
			end := w.noAnswerFor(services, touchService(w))
			w.confirm("web")
			w.await(web.completed)
			w.await(told)
			w.within(goesOn, end, givenBack(before))
		},
		"route of a release that is deleted": func(w *world, before any) {
			w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%", manual())))
			w.await(all(web.blocksAt(0), gets(50)))
			end := w.noAnswerFor(routes, touchRoute(w))
			if err := w.deleteRelease(); err != nil {
				w.Fatal(err)
			}
			w.await(told)
			w.within(goesOn, end, web.handedBack)
			w.await(givenBack(before))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrafficWorld(t)
			w.startController()
			w.deployed(deployment(4, rolling(1, 0)))
			journey(w, w.routed())
		})
	}
}
