package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// gitopsTool applies a route as it is in Git, server-side and with force, and ignores its rules as
// the examples of docs/interop say.
type gitopsTool struct {
	manager string
	ignores func(t *testing.T, live, predicted *unstructured.Unstructured) bool
	spare   func(git, live *unstructured.Unstructured) // what it applies in place of rules that it ignores
}

var gitopsTools = map[string]gitopsTool{
	// managedFieldsManagers: fields that differ and that one of the managers has written are taken
	// out of both sides of the comparison. With RespectIgnoreDifferences they are applied as they
	// are in the cluster.
	"Argo CD": {"argocd-controller", ignoresManager, func(git, live *unstructured.Unstructured) { specOf(git)["rules"] = rulesIn(live) }},
	// ignore: the selector is matched with the object as a dry run returns it. Ignored fields that
	// differ are not applied.
	"Flux": {"kustomize-controller", ignoresAnnotated, func(git, _ *unstructured.Unstructured) { delete(specOf(git), "rules") }},
}

// TestGitOpsToolsLeaveSharesAlone: a tool that is configured as documented sees no difference in
// the rules of a route while a release shares requests, and applies other changes without touching
// the shares. It sees none after the release either, and then applies changes of the rules again.
func TestGitOpsToolsLeaveSharesAlone(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	for name, tool := range gitopsTools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, namespace := newClient(t), cptest.Namespace(t)
			git := newRoute(namespace)
			release := startShared(t, c, tool, git)

			shared := []string{"web-stable 270", "web-canary 30", "api 100"}
			tool.wantNoDifference(t, c, git)
			specOf(git)["hostnames"] = []any{"store.example.com"}
			applied := tool.sync(t, c, git)
			if diff := cmp.Diff(shared, backendsOf(applied)); diff != "" {
				t.Errorf("want the shares left alone by a sync: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(specOf(git)["hostnames"], specOf(applied)["hostnames"]); diff != "" {
				t.Errorf("want other changes applied: -want +got:\n%s", diff)
			}
			tool.wantNoDifference(t, c, git)

			confirm(t, c, release)
			awaitRelease(t, c, release, "completed", completed)
			tool.wantNoDifference(t, c, git)
			refs, _, _ := unstructured.NestedSlice(rulesIn(git)[0].(map[string]any), "backendRefs")
			refs[1].(map[string]any)["weight"] = int64(2)
			_ = unstructured.SetNestedSlice(rulesIn(git)[0].(map[string]any), refs, "backendRefs")
			applied = tool.sync(t, c, git)
			if diff := cmp.Diff([]string{"web 3", "api 2"}, backendsOf(applied)); diff != "" {
				t.Errorf("want a change of the rules after the release applied: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]string{tool.manager}, ownersOfRules(t, applied)); diff != "" {
				t.Errorf("want the tool to own the rules again: -want +got:\n%s", diff)
			}
		})
	}
}

// TestOriginalAppliedAgainIsSharedAgain: a tool that is not configured puts the original back,
// which refers to a Service that has the pods of both versions. It is shared again, and no pod goes
// meanwhile.
func TestOriginalAppliedAgainIsSharedAgain(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace := newClient(t), cptest.Namespace(t)
	git := newRoute(namespace)
	tool := gitopsTools["Argo CD"]
	release := startShared(t, c, tool, git)
	before := podsOf(t, c, namespace)

	applied := tool.apply(t, c, git)
	if diff := cmp.Diff([]string{"web 3", "api 1"}, backendsOf(applied)); diff != "" {
		t.Fatalf("want the original to win for a moment: -want +got:\n%s", diff)
	}
	cptest.Eventually(t, soon, func() error {
		if diff := cmp.Diff([]string{"web-stable 270", "web-canary 30", "api 100"}, backendsOf(readRoute(t, c, namespace))); diff != "" {
			return fmt.Errorf("want the original shared again: -want +got:\n%s", diff)
		}
		return nil
	})
	if diff := cmp.Diff([]string{v1alpha1.OwnerRollout}, ownersOfRules(t, readRoute(t, c, namespace))); diff != "" {
		t.Errorf("owners of the rules: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, podsOf(t, c, namespace)); diff != "" {
		t.Errorf("want the pods left alone: -before +after:\n%s", diff)
	}
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	tool.wantNoDifference(t, c, git)
}

// TestSharesAppliedAfterTheEnd: a sync that began in mid-release may end after it, and apply shares
// that it has read before. The route then refers to Services that are gone, and is restored. A
// route that may refer to a user's Service of that name stays, and an event says so.
func TestSharesAppliedAfterTheEnd(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace := newClient(t), cptest.Namespace(t)
	git := newRoute(namespace)
	tool := gitopsTools["Argo CD"]
	release := startShared(t, c, tool, git)
	stale := git.DeepCopy()
	specOf(stale)["rules"] = rulesIn(readRoute(t, c, namespace))
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)

	tool.apply(t, c, stale)
	cptest.Eventually(t, soon, func() error {
		if diff := cmp.Diff([]string{"web 3", "api 1"}, backendsOf(readRoute(t, c, namespace))); diff != "" {
			return fmt.Errorf("want the route restored: -want +got:\n%s", diff)
		}
		return nil
	})
	tool.wantNoDifference(t, c, git)

	cptest.Eventually(t, soon, func() error { // the sides may go a moment after the release
		taken := newService(namespace)
		taken.Name = "web-stable"
		return c.Create(t.Context(), taken)
	})
	answer := tool.apply(t, c, stale)
	awaitRelease(t, c, release, "stalled", func(status v1alpha1.BatchReleaseStatus) bool {
		return status.StalledBy == v1alpha1.StallTrafficBlocked && status.Traffic.Problem.Type == v1alpha1.TrafficNotShareable
	})
	wantUntouched(t, c, answer)
	tool.wantDifference(t, c, git)
	tool.apply(t, c, git)
	awaitRelease(t, c, release, "at rest", func(status v1alpha1.BatchReleaseStatus) bool { return status.StalledBy == "" })
}

// startShared has a tool apply a route, and starts a release that shares its requests and waits at
// a gate.
func startShared(t *testing.T, c client.Client, tool gitopsTool, git *unstructured.Unstructured) *v1alpha1.BatchRelease {
	t.Helper()
	namespace := git.GetNamespace()
	start(t, componentsAccount(t), app.Options{Version: namespace, Namespaces: []string{namespace}, Traffic: true})
	for _, object := range []client.Object{newDeployment(namespace), newService(namespace)} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	tool.apply(t, c, git)
	awaitPods(t, c, namespace)
	release := newTrafficRelease(t, namespace)
	if err := c.Create(t.Context(), release); err != nil {
		t.Fatalf("create release: %v", err)
	}
	awaitRelease(t, c, release, "blocking", blocking)
	return release
}

// apply returns the route as the API server answers, before anybody else has seen it.
func (g gitopsTool) apply(t *testing.T, c client.Client, git *unstructured.Unstructured, opts ...client.ApplyOption) *unstructured.Unstructured {
	t.Helper()
	answer := git.DeepCopy()
	opts = append(opts, client.FieldOwner(g.manager), client.ForceOwnership)
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(answer), opts...); err != nil {
		t.Fatalf("apply route: %v", err)
	}
	return answer
}

// sync applies what is in Git, less what the tool ignores.
func (g gitopsTool) sync(t *testing.T, c client.Client, git *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live, payload := readRoute(t, c, git.GetNamespace()), git.DeepCopy()
	if g.ignores(t, live, g.apply(t, c, git, client.DryRunAll)) {
		g.spare(payload, live)
	}
	return g.apply(t, c, payload)
}

func (g gitopsTool) wantNoDifference(t *testing.T, c client.Client, git *unstructured.Unstructured) {
	t.Helper()
	if diff := g.difference(t, c, git); diff != "" {
		t.Errorf("want no difference from Git: -git +cluster:\n%s", diff)
	}
}

func (g gitopsTool) wantDifference(t *testing.T, c client.Client, git *unstructured.Unstructured) {
	t.Helper()
	if g.difference(t, c, git) == "" {
		t.Error("want a difference from Git, which a tool that heals by itself undoes")
	}
}

// difference compares the route in the cluster with what an apply of that in Git would make of it.
func (g gitopsTool) difference(t *testing.T, c client.Client, git *unstructured.Unstructured) string {
	t.Helper()
	live, predicted := readRoute(t, c, git.GetNamespace()), g.apply(t, c, git, client.DryRunAll)
	if g.ignores(t, live, predicted) {
		g.spare(predicted, live)
		g.spare(live, live.DeepCopy())
	}
	return cmp.Diff(userOf(predicted), userOf(live))
}

func ignoresManager(t *testing.T, live, predicted *unstructured.Unstructured) bool {
	t.Helper()
	var application struct {
		Spec struct {
			IgnoreDifferences []struct {
				Kind                  string
				ManagedFieldsManagers []string
			}
		}
	}
	readExample(t, "argocd-application.yaml", &application)
	var managers []string
	for _, rule := range application.Spec.IgnoreDifferences {
		if rule.Kind == live.GetKind() {
			managers = append(managers, rule.ManagedFieldsManagers...)
		}
	}
	was, err := typed.DeducedParseableType.FromUnstructured(live.Object)
	if err != nil {
		t.Fatalf("parse live route: %v", err)
	}
	will, err := typed.DeducedParseableType.FromUnstructured(predicted.Object)
	if err != nil {
		t.Fatalf("parse predicted route: %v", err)
	}
	comparison, err := was.Compare(will)
	if err != nil {
		t.Fatalf("compare routes: %v", err)
	}
	rules := fieldpath.MakePathOrDie("spec", "rules")
	ignored := func(owner string) bool { return slices.Contains(managers, owner) }
	return comparison.Modified.Has(rules) && slices.ContainsFunc(ownersOfRules(t, live), ignored)
}

func ignoresAnnotated(t *testing.T, _, predicted *unstructured.Unstructured) bool {
	t.Helper()
	var kustomization struct {
		Spec struct {
			Ignore []struct {
				Paths  []string
				Target struct{ Kind, AnnotationSelector string }
			}
		}
	}
	readExample(t, "flux-kustomization.yaml", &kustomization)
	for _, rule := range kustomization.Spec.Ignore {
		selector, err := labels.Parse(rule.Target.AnnotationSelector)
		if err != nil {
			t.Fatalf("parse selector: %v", err)
		}
		if rule.Target.Kind == predicted.GetKind() && slices.Contains(rule.Paths, "/spec/rules") && selector.Matches(labels.Set(predicted.GetAnnotations())) {
			return true
		}
	}
	return false
}

// readExample reads a file that docs/argocd.md or docs/flux.md shows.
func readExample(t *testing.T, name string, into any) {
	t.Helper()
	path, err := controlplane.InCheckout(filepath.Join("docs/interop", name))
	if err != nil {
		t.Fatalf("find example: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read example: %v", err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("parse example: %v", err)
	}
}

// ownersOfRules returns the managers of spec.rules.
func ownersOfRules(t *testing.T, route *unstructured.Unstructured) []string {
	t.Helper()
	var owners []string
	for _, entry := range route.GetManagedFields() {
		fields := &fieldpath.Set{}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			t.Fatalf("read fields of %s: %v", entry.Manager, err)
		}
		if fields.Has(fieldpath.MakePathOrDie("spec", "rules")) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

func specOf(route *unstructured.Unstructured) map[string]any {
	return route.Object["spec"].(map[string]any)
}

func rulesIn(route *unstructured.Unstructured) []any { return specOf(route)["rules"].([]any) }

func podsOf(t *testing.T, c client.Client, namespace string) []types.UID {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	var ids []types.UID
	for _, pod := range pods.Items {
		ids = append(ids, pod.UID)
	}
	slices.Sort(ids)
	return ids
}
