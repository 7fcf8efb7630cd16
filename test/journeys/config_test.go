package journeys

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// configWorld is a world whose release has a ConfigMap in spec.config.
type configWorld struct{ *forgeWorld }

// newConfigWorld starts a forge with a repository that has ten pods of web:1 with a ConfigMap, and
// lets controllers copy it.
func newConfigWorld(w *world, p workloadKind, change func(*v1alpha1.BatchRelease), steps ...v1alpha1.Step) *configWorld {
	w.Helper()
	c := &configWorld{&forgeWorld{world: w}}
	w.applyShipped("components/config/role.yaml")
	w.applyShipped("components/config/role_binding.yaml")
	r := release("", steps...)
	r.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"}
	r.Spec.WorkloadRef.Kind = p.kind
	r.Spec.Template, r.Spec.Config = nil, []v1alpha1.ConfigReference{{ConfigMap: "web-config"}}
	if change != nil {
		change(r)
	}
	workload := p.workload(w, 10)
	workload.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: p.kind})
	if d, is := workload.(*appsv1.Deployment); is {
		d.Spec.RevisionHistoryLimit = r.Spec.RevisionHistoryLimit
	}
	c.file = func(image string) []byte {
		template := p.template(w, image, nil)
		template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web-config"}},
		}}
		*templateOf(workload) = template
		return manifest(w.T, workload)
	}
	c.startForgeWith(fstest.MapFS{
		"web.yaml":     {Data: c.file("web:1")},
		"release.yaml": {Data: manifest(w.T, r)},
		"config.yaml":  {Data: configFile("one")},
	})
	return c
}

// deploymentWithConfig returns newConfigWorld of a Deployment.
func deploymentWithConfig(t *testing.T, change func(*v1alpha1.BatchRelease), steps ...v1alpha1.Step) *configWorld {
	t.Helper()
	return newConfigWorld(newWorld(t), workloadKinds()["Deployment"], change, steps...)
}

// configFile returns a ConfigMap as Git has it.
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

// levels counts the pods of a scene by the content that they are given.
func (w *configWorld) levels(s *scene) map[string]int {
	w.Helper()
	copies, found := w.copies(), map[string]int{}
	for _, pod := range s.pods {
		if !alive(pod) {
			continue
		}
		name := pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
		level := copies[name].Data["LEVEL"]
		if _, there := copies[name]; !there {
			level = "missing: " + name
		}
		found[level]++
	}
	return found
}

// awaitLevels waits until that many pods are given each content.
func (w *configWorld) awaitLevels(want map[string]int) {
	w.Helper()
	w.await(func(s *scene) error {
		if got := w.levels(s); !maps.Equal(got, want) {
			return fmt.Errorf("want pods with content %v, got %v", want, got)
		}
		return nil
	})
}

// awaitKept waits until the copies have these contents, and each belongs to the release and the
// workload.
func (w *configWorld) awaitKept(kind string, levels ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		w.requestSync()
		var got []string
		for name, c := range w.copies() {
			var owners []string
			for _, owner := range c.OwnerReferences {
				owners = append(owners, owner.Kind)
			}
			if slices.Sort(owners); !slices.Equal(owners, []string{"BatchRelease", kind}) {
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
	onKinds(t, []string{"Deployment", "StatefulSet", "DaemonSet"}, func(world *world, p workloadKind) {
		w := newConfigWorld(world, p, nil, step("30%", manual()), step("100%"))
		w.startWithForge(time.Second)
		w.awaitLevels(map[string]int{"one": 10})
		w.awaitKept(p.kind, "one")

		w.pushConfig("two")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
		w.awaitLevels(map[string]int{"one": 7, "two": 3})
		w.awaitKept(p.kind, "one", "two")

		w.rollBack()
		w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 10)))
		w.awaitLevels(map[string]int{"one": 10})
		w.awaitRevert(v1alpha1.RevertRefused)
		if open := w.pulls(); len(open) > 0 {
			t.Errorf("want no pull request that puts back half of it, got %v", open)
		}

		w.pushConfig("three")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
		w.awaitLevels(map[string]int{"one": 7, "three": 3})
		w.pushConfig("one")
		w.await(all(web.rolledBack(v1alpha1.TriggerGitRevert, ""), web.serves("web:1", 10)))
		w.awaitLevels(map[string]int{"one": 10})
	})
}

// TestHistoryKeepsConfig: as many copies are kept as templates, and a rollback reaches the last of
// them.
func TestHistoryKeepsConfig(t *testing.T) {
	w := deploymentWithConfig(t, func(r *v1alpha1.BatchRelease) { r.Spec.RevisionHistoryLimit = new(int32(3)) }, step("100%", none()))
	w.startWithForge(time.Second)
	revisions := map[string]string{}
	for i := range 6 {
		level := fmt.Sprint(i)
		w.pushConfig(level)
		s := w.await(all(web.completed, w.gives(level)))
		revisions[level] = s.releases["web"].Status.StableRevision
	}
	w.awaitKept("Deployment", "2", "3", "4", "5")
	w.annotateRelease(v1alpha1.RollbackAnnotation, revisions["2"])
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, ""), w.gives("2")))
	w.awaitLevels(map[string]int{"2": 10})
}

// gives wants all pods to be given a content.
func (w *configWorld) gives(level string) check {
	return func(s *scene) error {
		copies := w.copies()
		for _, pod := range s.pods {
			if name := pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name; alive(pod) && copies[name].Data["LEVEL"] != level {
				return fmt.Errorf("want all pods with content %s, and %s has %q", level, pod.Name, copies[name].Data["LEVEL"])
			}
		}
		return nil
	}
}

// TestKilledBetweenCopyAndTemplate: another controller goes on where one died with the copy made,
// and before its template was applied.
func TestKilledBetweenCopyAndTemplate(t *testing.T) {
	for name, when := range map[string]moment{"BeforeTheTemplate": before, "AfterTheTemplate": after} {
		t.Run(name, func(t *testing.T) {
			w := deploymentWithConfig(t, nil, step("30%", manual()), step("100%"))
			w.startWithForge(time.Second).kill()
			w.pushConfig("two")
			c := w.startControllerUntil(func(request *http.Request) moment {
				applies := strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch")
				if applies && strings.HasSuffix(request.URL.Path, "/batchreleases/web") {
					return when
				}
				return goOn
			})
			w.await(c.died)
			if copies := w.copies(); len(copies) != 2 {
				t.Errorf("want the copy to come before the template, got %v", copies)
			}
			w.startController()
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
			w.awaitLevels(map[string]int{"one": 7, "two": 3})
			w.awaitKept("Deployment", "one", "two")
		})
	}
}

// TestConfigOutlivesItsRelease: the copies stay while the release or the workload is there, and go
// with both.
func TestConfigOutlivesItsRelease(t *testing.T) {
	w := deploymentWithConfig(t, nil, step("30%", manual()), step("100%"))
	w.startWithForge(time.Second)
	w.pushConfig("two")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
	w.awaitKept("Deployment", "one", "two")

	w.kubectl("delete", "deployment", "web")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 10})))
	w.awaitLevels(map[string]int{"one": 7, "two": 3})
	w.awaitKept("Deployment", "one", "two")

	w.edit(named[v1alpha1.ReleaseSource]("shop"), mergePatch(`{"spec":{"suspend":true}}`), "ada")
	w.kubectl("delete", "batchrelease", "web")
	w.await(all(web.handedBack, w.gives("one"), allReady))
	cptest.Eventually(w, soon, func() error { // the collector has seen that the release is gone
		for name, c := range w.copies() {
			if len(c.OwnerReferences) != 1 {
				return fmt.Errorf("want %s to belong to the workload alone, got %v", name, c.OwnerReferences)
			}
		}
		return nil
	})
	w.awaitLevels(map[string]int{"one": 10})
	w.kubectl("delete", "deployment", "web")
	cptest.Eventually(w, soon, func() error {
		if left := w.copies(); len(left) > 0 {
			return fmt.Errorf("want no copies without release and workload, got %v", left)
		}
		return nil
	})
}
