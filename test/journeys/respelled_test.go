package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// withMemory is a template with a limit of memory, written as it is given.
func withMemory(image, memory string) corev1.PodTemplateSpec {
	template := podTemplate(image, nil)
	template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return template
}

// A quantity that is written in another way is no other template, neither to the native controller nor to us: no
// release starts for it, none is lost by it, and both mean the same ReplicaSet in the end.
func TestQuantityWrittenAnotherWay(t *testing.T) {
	for name, limits := range map[string][2]int{"surge": {1, 0}, "unavailable": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4, rolling(limits[0], limits[1]), func(d *appsv1.Deployment) { d.Spec.Template = withMemory("web:1", "1Gi") }))
			w.create(releaseOf(withMemory("web:1", "1073741824"), step(1), step("100%")))
			first := w.await(all(web.completed, web.serves("web:1", 4)))
			attempt := first.releases["web"].Status.Attempt

			w.release(withMemory("web:2", "1Gi"))
			w.catchUp()
			w.await(all(web.blocksAt(0), web.attempt(attempt+1)))
			w.release(withMemory("web:2", "1073741824"))
			w.catchUp()
			w.await(all(answered, web.blocksAt(0), web.attempt(attempt+1)))
			w.confirm("web")
			w.await(all(web.completed, web.handedBack, web.serves("web:2", 4)))
			w.release(withMemory("web:2", "1Gi"))
			w.catchUp()
			w.await(all(answered, web.completed, web.attempt(attempt+1)))
			end := w.awaitNative()
			if err := web.serves("web:2", 4)(end); err != nil || len(end.sets) != 2 {
				t.Errorf("%d ReplicaSets in the end, want one of each image: %v", len(end.sets), err)
			}
			w.wantOneWay()
		})
	}
}

// answered is when the status is about the newest spec of the release.
func answered(s *scene) error {
	if r := s.releases["web"]; r.Status.ObservedGeneration != r.Generation {
		return fmt.Errorf("the status is of generation %d, the spec of %d", r.Status.ObservedGeneration, r.Generation)
	}
	return nil
}

// wantOneWay wants each ReplicaSet to have grown, and then to have shrunk, at most once.
func (w *world) wantOneWay() {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatal(err)
	}
	last, shrinks := map[string]int32{}, map[string]bool{}
	for _, e := range entries {
		set, is := e.object.(*appsv1.ReplicaSet)
		if !is {
			continue
		}
		was, now := last[set.Name], replicas(set)
		last[set.Name] = now
		switch {
		case now < was:
			shrinks[set.Name] = true
		case now > was && shrinks[set.Name]:
			w.Errorf("%s is scaled %d -> %d after it shrank", set.Name, was, now)
		}
	}
}
