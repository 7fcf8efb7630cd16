package journeys

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// readInterop reads a manifest for another tool, as the docs have it.
func readInterop(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/interop", name))
	if err != nil {
		t.Fatalf("read manifest: %v", err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("decode %s: %v", name, err)
	}
}

// contentOf returns an object as other tools see it.
func contentOf(t *testing.T, object client.Object) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatalf("convert %T: %v", object, err)
	}
	return content
}

// argoHealth returns the health that Argo CD computes for an object by the script in the docs.
func argoHealth(t *testing.T, kind string, object client.Object) string {
	t.Helper()
	var config struct {
		Data map[string]string `json:"data"`
	}
	readInterop(t, "argocd-cm.yaml", &config)
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	lua.OpenBase(vm)
	vm.SetGlobal("obj", luaValue(vm, contentOf(t, object)))
	if err := vm.DoString(config.Data["resource.customizations.health.rollouts.sluice.dev_"+kind]); err != nil {
		t.Fatalf("run health script of %s: %v", kind, err)
	}
	health, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("want the health script of %s to return a table, got %v", kind, vm.Get(-1))
	}
	return health.RawGetString("status").String()
}

func luaValue(vm *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := vm.NewTable()
		for key, item := range value {
			table.RawSetString(key, luaValue(vm, item))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, item := range value {
			table.Append(luaValue(vm, item))
		}
		return table
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	default:
		return lua.LNil
	}
}

// fluxHealth returns the health that Flux computes for a release by the expressions in the docs:
// the first that holds.
func fluxHealth(t *testing.T, release *v1alpha1.BatchRelease) string {
	t.Helper()
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ Failed, Current string } `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	readInterop(t, "flux-kustomization.yaml", &kustomization)
	expressions := kustomization.Spec.HealthCheckExprs[0]
	switch {
	case release.Status.ObservedGeneration != release.Generation:
		return "InProgress"
	case holds(t, expressions.Failed, contentOf(t, release)):
		return "Failed"
	case holds(t, expressions.Current, contentOf(t, release)):
		return "Current"
	default:
		return "InProgress"
	}
}

// holds evaluates an expression over the fields of an object. They are not declared: Flux knows no
// kinds.
func holds(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv()
	if err != nil {
		t.Fatalf("make CEL environment: %v", err)
	}
	parsed, issues := env.Parse(expression)
	if err := issues.Err(); err != nil {
		t.Fatalf("parse %q: %v", expression, err)
	}
	program, err := env.Program(parsed)
	if err != nil {
		t.Fatalf("plan %q: %v", expression, err)
	}
	result, _, err := program.Eval(object)
	if err != nil {
		t.Fatalf("evaluate %q: %v", expression, err)
	}
	return result.Value() == true
}

// wantHealth wants other tools to see the release as told.
func (w *world) wantHealth(when string, s *scene, argo, flux string) {
	w.Helper()
	release := s.releases["web"]
	if got := argoHealth(w.T, "BatchRelease", release); got != argo {
		w.Errorf("%s: want %s in Argo CD, got %s", when, argo, got)
	}
	if got := fluxHealth(w.T, release); got != flux {
		w.Errorf("%s: want %s in Flux, got %s", when, flux, got)
	}
}

// TestReleaseHealthElsewhere: other tools see how a release is, by the scripts and expressions in
// the docs.
func TestReleaseHealthElsewhere(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:1", step("50%"), step("100%")))
	w.wantHealth("completed", w.await(all(web.observed, web.completed)), "Healthy", "Current")

	await := w.fromNow()
	w.releaseImage("web:2")
	w.wantHealth("under way", await(all(web.observed, web.phase(v1alpha1.PhaseRollingUpdate))), "Progressing", "InProgress")
	s := w.await(all(web.blocksAt(0)))
	w.wantHealth("at a gate", s, "Suspended", "Current")
	w.wantGate(0, v1alpha1.GateManual, v1alpha1.DecisionWaiting)
	for _, gate := range w.now().gates {
		if got := argoHealth(t, "Gate", gate); got != "Suspended" {
			t.Errorf("want an open gate Suspended in Argo CD, got %s", got)
		}
	}
	w.patchRelease(`{"spec":{"suspend":true}}`)
	s = w.await(all(web.observed, suspended(v1alpha1.ReasonSuspended, "spec.suspend")))
	w.wantHealth("suspended", s, "Suspended", "Current")
	w.patchRelease(`{"spec":{"suspend":false}}`)
	w.rollBack()
	s = w.await(all(web.observed, web.rolledBack(v1alpha1.TriggerAnnotation, "")))
	w.wantHealth("rolled back", s, "Degraded", "Failed")

	w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":2}}}`)
	w.release(podTemplate("web:3", behaving(controlplane.CrashLoop)))
	w.wantHealth("failed", w.await(all(web.observed, failed("no progress"))), "Degraded", "Failed")
}

// TestSourceHealthElsewhere: so they see how a source is.
func TestSourceHealthElsewhere(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.options = func(o *app.Options) { o.Git.AllowHTTP, o.Git.AllowFile = false, true }
	folder := t.TempDir()
	identity := []string{"-C", folder, "-c", "user.name=ada", "-c", "user.email=ada@example.com"}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"commit", "--quiet", "--allow-empty", "-m", "Nothing yet"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append(identity, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	w.startController()
	cases := map[string]struct {
		spec   v1alpha1.ReleaseSourceSpec
		health string
	}{
		"synced":      {v1alpha1.ReleaseSourceSpec{URL: "file://" + folder}, "Healthy"},
		"suspended":   {v1alpha1.ReleaseSourceSpec{URL: "file://" + folder, Suspend: true}, "Suspended"},
		"invalid":     {v1alpha1.ReleaseSourceSpec{URL: "http://127.0.0.1:1/shop.git"}, "Degraded"},
		"unreachable": {v1alpha1.ReleaseSourceSpec{URL: "https://127.0.0.1:1/shop.git"}, "Progressing"},
	}
	for name, tc := range cases {
		source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: tc.spec}
		w.create(source)
		cptest.Eventually(t, soon, func() error {
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
				return err
			}
			if len(source.Status.Conditions) == 0 {
				return fmt.Errorf("want the source %s looked at", name)
			}
			if got := argoHealth(t, "ReleaseSource", source); got != tc.health {
				return fmt.Errorf("want the source %s %s in Argo CD, got %s: %+v", name, tc.health, got, source.Status.Conditions)
			}
			return nil
		})
	}
}
