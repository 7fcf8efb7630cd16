package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restartedAnnotation on a template makes kubectl rollout restart replace its pods.
const restartedAnnotation = "kubectl.kubernetes.io/restartedAt"

// request brings a workload a new template, as one tool does.
type request struct {
	// creates creates the workload; nil if changes does.
	creates func(h tool, image string) error
	changes func(h tool, image string) error
	// once is about a request that brings another template each time.
	once bool
	// partial is about a request that says nothing of the strategy.
	partial bool
}

// manifest returns the chart in a version as a tool has it.
func (h tool) manifest(image string) *unstructured.Unstructured {
	object := h.chart(image)
	object.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(h.kind))
	object.SetNamespace(h.namespace)
	manifest := &unstructured.Unstructured{Object: withoutStatus(object)}
	unstructured.RemoveNestedField(manifest.Object, "metadata", "creationTimestamp")
	return manifest
}

// byKubectl returns a request of kubectl, with the manifest as its input if there is a "-".
func byKubectl(args ...string) func(tool, string) error {
	return func(h tool, image string) error {
		var words []string
		for _, arg := range args {
			words = append(words, strings.NewReplacer("KIND", strings.ToLower(h.kind), "IMAGE", image).Replace(arg))
		}
		_, err := h.tryKubectl(string(encode(h.manifest(image))), words...)
		return err
	}
}

// byApply returns a server-side apply by force.
func byApply(manager string) func(tool, string) error {
	return func(h tool, image string) error {
		applied := client.ApplyConfigurationFromUnstructured(h.manifest(image))
		return h.Apply(h.Context(), applied, client.FieldOwner(manager), client.ForceOwnership)
	}
}

// created creates the workload.
func created(h tool, image string) error {
	return h.Create(h.Context(), h.manifest(image), client.FieldOwner("Terraform"))
}

// specReplaced replaces the spec by a JSON patch, as Terraform's kubernetes_deployment does.
func specReplaced(h tool, image string) error {
	patch := []any{map[string]any{"op": "replace", "path": "/spec", "value": h.manifest(image).Object["spec"]}}
	return h.Patch(h.Context(), h.manifest(image), client.RawPatch(types.JSONPatchType, encode(patch)), client.FieldOwner("Terraform"))
}

// edited has kubectl edit change the image in the text.
func edited(h tool, image string) error {
	cmd := h.command("edit", strings.ToLower(h.kind), "web")
	cmd.Env = append(cmd.Environ(), "KUBE_EDITOR=sed -i s/web:1$/"+image+"/")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl edit: %w: %s", err, out)
	}
	return nil
}

// requests has the tools, by name.
func requests() map[string]request {
	apply := []string{"apply", "-f", "-"}
	return map[string]request{
		"kubectl apply":              {changes: byKubectl(apply...)},
		"kubectl apply, server-side": {changes: byKubectl("apply", "--server-side", "-f", "-")},
		"kubectl replace":            {creates: created, changes: byKubectl("replace", "-f", "-")},
		"kubectl edit":               {creates: byKubectl(apply...), changes: edited, partial: true},
		"kubectl set image":          {creates: byKubectl(apply...), changes: byKubectl("set", "image", "KIND/web", "web=IMAGE"), partial: true},
		"kubectl rollout restart":    {creates: byKubectl(apply...), changes: byKubectl("rollout", "restart", "KIND/web"), once: true, partial: true},
		"Terraform":                  {creates: created, changes: specReplaced},
		"Terraform manifest":         {changes: byApply("Terraform")},
		"Argo CD":                    {changes: byKubectl("apply", "--field-manager=argocd-controller", "-f", "-")},
		"Argo CD, server-side":       {changes: byApply("argocd-controller")},
	}
}

// renewed wants four pods of the workload, so many of them of the new template.
func renewed(n int) check {
	return func(s *scene) error {
		total, have := 0, 0
		for _, pod := range s.podsOwned(s.workload("web")) {
			if !alive(pod) {
				continue
			}
			total++
			if _, restarted := pod.Annotations[restartedAnnotation]; restarted || pod.Spec.Containers[0].Image == "web:2" {
				have++
			}
		}
		if total != 4 || have != n {
			return fmt.Errorf("want %d of 4 pods renewed, have %d of %d", n, have, total)
		}
		return nil
	}
}

// TestFollowTools: a tool's request is held, a second one changes nothing of that, and after the
// gate all pods are new.
func TestFollowTools(t *testing.T) {
	t.Parallel()
	for name, r := range requests() {
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				if kind != "Deployment" {
					forNight(t)
				}
				newFollowedBy(t, kind, r).journey(r)
			})
		}
	}
}

// newFollowedBy returns a world with four pods of web:1, which a tool has applied, and a release of
// two steps.
func newFollowedBy(t *testing.T, kind string, r request) tool {
	t.Helper()
	w := newFollowingWorld(t)
	if kind == "DaemonSet" {
		w.ownNodes(4)
	}
	w.startController()
	if r.once && kind != "Deployment" {
		w.judged = nil // the laws tell templates of these kinds by their image, which stays
	}
	h := tool{w, kind, w.charts()[kind]}
	creates := r.creates
	if creates == nil {
		creates = r.changes
	}
	h.sends(creates, "web:1")
	w.await(web.serves("web:1", 4))
	w.create(following(releaseTo(kind, podTemplate("", nil), step(1), step("100%", none()))))
	w.await(all(web.completed, labelled))
	return h
}

// sends sends a request, which must succeed, and again where another write came between.
func (h tool) sends(request func(tool, string) error, image string) {
	h.Helper()
	err := request(h, image)
	for range 5 {
		if err == nil || !strings.Contains(err.Error(), "(Conflict)") {
			break
		}
		err = request(h, image)
	}
	if err != nil {
		h.Fatal(err)
	}
}

func (h tool) journey(r request) {
	h.Helper()
	h.suspend(true)
	h.sends(r.changes, "web:2")
	h.lookedAgain()
	h.await(renewed(0))
	h.suspend(false)
	atGate := all(web.blocksAt(0), web.takenOver, renewed(1))
	h.await(atGate)
	if !r.once {
		before := h.live(h.kind)
		h.sends(r.changes, "web:2")
		if diff := cmp.Diff(before.Object["spec"], h.live(h.kind).Object["spec"]); diff != "" {
			h.Errorf("want a held workload left as it is, -before +after:\n%s", diff)
		}
		h.lookedAgain()
		h.await(atGate)
	}
	h.confirm("web")
	h.await(all(web.completed, renewed(4)))
	if !r.partial {
		h.await(h.asInChart("web:2"))
	}
}

// TestFollowArgoCDDiff: Argo CD shows the strategy of the chart as a difference at a gate, and
// nothing else. Its server-side diff shows none, and after the release neither does.
func TestFollowArgoCDDiff(t *testing.T) {
	shown := map[string][]string{
		"Deployment": {"/spec/strategy"}, "StatefulSet": {"/spec/updateStrategy"}, "DaemonSet": {"/spec/updateStrategy"},
	}
	t.Parallel()
	for kind, want := range shown {
		t.Run(kind, func(t *testing.T) {
			r := requests()["Argo CD, server-side"]
			h := newFollowedBy(t, kind, r)
			h.sends(r.changes, "web:2")
			h.await(all(web.blocksAt(0), web.takenOver, renewed(1)))
			h.wantShown("at the gate", want)
			h.confirm("web")
			h.await(all(web.completed, renewed(4)))
			h.wantShown("after the release", nil)
		})
	}
}

// wantShown wants Argo CD's client-side diff to show fields below these paths alone, and its
// server-side diff to show none.
func (h tool) wantShown(when string, paths []string) {
	h.Helper()
	manifest, live := h.manifest("web:2"), h.live(h.kind)
	found := differences("", manifest.Object, live.Object)
	h.Logf("%s, %s: %v", h.kind, when, found)
	if (len(found) > 0) != (len(paths) > 0) {
		h.Errorf("%s: want differences below %v, have %v", when, paths, found)
	}
	for _, path := range found {
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(path, p) }) {
			h.Errorf("%s: want no difference at %s", when, path)
		}
	}
	applied := client.ApplyConfigurationFromUnstructured(manifest)
	if err := h.Apply(h.Context(), applied, client.FieldOwner("argocd-controller"), client.ForceOwnership, client.DryRunAll); err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(live.Object["spec"], manifest.Object["spec"]); diff != "" {
		h.Errorf("%s: want no difference that the API server tells, -live +predicted:\n%s", when, diff)
	}
}
