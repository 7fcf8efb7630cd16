package journeys

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// configWorld is a world whose release has a ConfigMap in spec.config.
type configWorld struct{ *forgeWorld }

// newConfigWorld starts a forge with a repository that has ten pods of web:1 with a ConfigMap, and
// lets controllers copy it.
func newConfigWorld(t *testing.T, change func(*v1alpha1.BatchRelease), steps ...v1alpha1.Step) *configWorld {
	t.Helper()
	w := &configWorld{&forgeWorld{world: newWorld(t)}}
	w.applyShipped("components/config/role.yaml")
	w.applyShipped("components/config/role_binding.yaml")
	r := release("", steps...)
	r.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"}
	r.Spec.Template, r.Spec.Config = nil, []v1alpha1.ConfigReference{{ConfigMap: "web-config"}}
	if change != nil {
		change(r)
	}
	w.file = func(image string) []byte {
		d := deployment(10)
		d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
		d.Spec.Template = podTemplate(image, nil)
		d.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web-config"}},
		}}
		return manifest(t, d)
	}
	w.startForgeWith(fstest.MapFS{
		"web.yaml":     {Data: w.file("web:1")},
		"release.yaml": {Data: manifest(t, r)},
		"config.yaml":  {Data: configFile("one")},
	})
	return w
}

// configFile is a ConfigMap as Git has it.
func configFile(level string) []byte {
	return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {LEVEL: %q}\n", level)
}

// pushConfig commits another content of the ConfigMap.
func (w *configWorld) pushConfig(level string) {
	w.Helper()
	w.write("ada", "main", "config.yaml", configFile(level))
}

// copies returns the copies in the namespace by name.
func (w *configWorld) copies() map[string]corev1.ConfigMap {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: "web"}); err != nil {
		w.Fatal(err)
	}
	found := map[string]corev1.ConfigMap{}
	for _, c := range list.Items {
		found[c.Name] = c
	}
	return found
}

// levels counts the pods by the content that they are given.
func (w *configWorld) levels() map[string]int {
	w.Helper()
	copies, found := w.copies(), map[string]int{}
	for _, pod := range w.now().pods {
		if !alive(pod) {
			continue
		}
		name := pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
		c, there := copies[name]
		if !there {
			found["missing: "+name]++
			continue
		}
		found[c.Data["LEVEL"]]++
	}
	return found
}

// wantLevels wants that many pods to be given each content.
func (w *configWorld) wantLevels(want map[string]int) {
	w.Helper()
	if got := w.levels(); !maps.Equal(got, want) {
		w.Errorf("want pods with content %v, got %v", want, got)
	}
}

// awaitKept waits until the copies have these contents, and each has its owners.
func (w *configWorld) awaitKept(levels ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var got []string
		for name, c := range w.copies() {
			var owners []string
			for _, owner := range c.OwnerReferences {
				owners = append(owners, owner.Kind)
			}
			if slices.Sort(owners); !slices.Equal(owners, []string{"BatchRelease", "Deployment"}) {
				return fmt.Errorf("want %s to belong to the release and the workload, got %v", name, owners)
			}
			if c.Immutable == nil || !*c.Immutable {
				return fmt.Errorf("want %s to be immutable", name)
			}
			got = append(got, c.Data["LEVEL"])
		}
		slices.Sort(got)
		if !slices.Equal(got, levels) {
			return fmt.Errorf("want copies of %v, got %v", levels, got)
		}
		return nil
	})
}

// TestConfigIsReleased: a commit that changes nothing but a ConfigMap is a release. It stops at its
// gate with the old content for old pods and the new content for new ones, and a rollback brings
// the old content back.
func TestConfigIsReleased(t *testing.T) {
	w := newConfigWorld(t, nil, step("30%", manual()), step("100%"))
	w.startWithForge(time.Second)
	w.wantLevels(map[string]int{"one": 10})
	w.awaitKept("one")

	w.pushConfig("two")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
	w.wantLevels(map[string]int{"one": 7, "two": 3})
	w.awaitKept("one", "two")

	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 10)))
	w.wantLevels(map[string]int{"one": 10})

	w.pushConfig("three")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
	w.wantLevels(map[string]int{"one": 7, "three": 3})
}
