package rollout

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// releasesOfAll lists the releases with these names, whatever a client asks for.
type releasesOfAll struct {
	client.Client

	names []string
}

func (c releasesOfAll) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, name := range c.names {
		release := v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		list.(*v1alpha1.BatchReleaseList).Items = append(list.(*v1alpha1.BatchReleaseList).Items, release)
	}
	return nil
}

// TestNewsStartsAPass: a pass starts unless every release of an object has decided on the change
// already, or the cache keeps nothing of it.
func TestNewsStartsAPass(t *testing.T) {
	t.Parallel()
	deployment := func(version string, replicas int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web-1", ResourceVersion: version},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		}
	}
	set := func(version string, replicas int32) *appsv1.ReplicaSet {
		isController := true
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-abc", UID: "set-1", ResourceVersion: version,
				OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: &isController}},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: &replicas},
		}
	}
	for name, test := range map[string]struct {
		releases      []string
		saw           func(p *processes)
		before, after client.Object
		starts        bool
	}{
		"replicas changed":          {before: deployment("1", 2), after: deployment("2", 3), starts: true},
		"nothing that we keep":      {before: deployment("1", 2), after: deployment("2", 2)},
		"a resync":                  {before: deployment("1", 2), after: deployment("1", 2), starts: true},
		"our write of the workload": {saw: sawWorkload(deployment("2", 3), "web"), before: deployment("1", 2), after: deployment("2", 3)},
		"a write before ours":       {saw: sawWorkload(deployment("3", 4), "web"), before: deployment("1", 2), after: deployment("2", 3), starts: true},
		"a write after ours":        {saw: sawWorkload(deployment("2", 3), "web"), before: deployment("2", 3), after: deployment("3", 4), starts: true},
		"made anew with the name": {
			saw: sawWorkload(deployment("2", 3), "web"), before: deployment("1", 2),
			after: func() client.Object { d := deployment("2", 3); d.UID = "web-2"; return d }(), starts: true,
		},
		"our write of a set":       {saw: sawSet(set("2", 3), "web"), before: set("1", 2), after: set("2", 3)},
		"another's write of a set": {saw: sawSet(set("2", 3), "web"), before: set("2", 3), after: set("3", 1), starts: true},
		"a set of no release":      {releases: []string{}, before: set("1", 2), after: set("2", 3), starts: true},
		"one of two releases has it": {
			releases: []string{"web", "other"}, saw: sawWorkload(deployment("2", 3), "web"),
			before: deployment("1", 2), after: deployment("2", 3), starts: true,
		},
		"the other one has it": {
			releases: []string{"other", "web"}, saw: sawWorkload(deployment("2", 3), "web"),
			before: deployment("1", 2), after: deployment("2", 3), starts: true,
		},
		"both releases have it": {
			releases: []string{"web", "other"}, saw: sawWorkload(deployment("2", 3), "web", "other"),
			before: deployment("1", 2), after: deployment("2", 3),
		},
		"a release that was never observed": {
			releases: []string{"web", "unknown"}, saw: sawWorkload(deployment("2", 3), "web"),
			before: deployment("1", 2), after: deployment("2", 3), starts: true,
		},
	} {
		c := &cluster{processes: newProcesses(clock.RealClock{}), client: releasesOfAll{names: test.releases}}
		if test.releases == nil {
			c.client = releasesOfAll{names: []string{"web"}}
		}
		for _, release := range []string{"web", "other"} {
			c.processes.of(types.NamespacedName{Namespace: "shop", Name: release})
		}
		if test.saw != nil {
			test.saw(c.processes)
		}
		news := newReconciler(c).maps.news()
		if starts := news.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); starts != test.starts {
			t.Errorf("%s: a pass starts: %t", name, starts)
		}
	}
}

func sawWorkload(d *appsv1.Deployment, releases ...string) func(*processes) {
	return func(p *processes) {
		for _, release := range releases {
			p.of(types.NamespacedName{Namespace: "shop", Name: release}).workload.Saw(d)
		}
	}
}

func sawSet(set *appsv1.ReplicaSet, releases ...string) func(*processes) {
	return func(p *processes) {
		for _, release := range releases {
			p.of(types.NamespacedName{Namespace: "shop", Name: release}).sets.Saw(set)
		}
	}
}
