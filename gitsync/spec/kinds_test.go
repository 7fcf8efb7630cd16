package spec

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// releaseOf returns the manifest of the release of a workload of a kind.
func releaseOf(kind, name, spec string) string {
	return strings.Replace(release(name, spec), "kind: Deployment", "kind: "+kind, 1)
}

// as returns a Deployment's manifest with another kind, and with a text added to its spec.
func as(kind, name, image, spec string) string {
	text := strings.Replace(deployment(name, image), "kind: Deployment", "kind: "+kind, 1)
	return strings.Replace(text, "  selector:", indent(spec)+"  selector:", 1)
}

func statefulSet(name, image, storage string) string {
	return as("StatefulSet", name, image, "serviceName: "+name+"\nvolumeClaimTemplates:\n- metadata: {name: data}\n  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "+storage+"}}}")
}

func daemonSet(name, image string) string {
	return strings.Replace(as("DaemonSet", name, image, "updateStrategy: {type: RollingUpdate}"), "  replicas: 10\n", "", 1)
}

// TestKindsAreToldApart: a release is of the workload of its kind, whatever else has that name.
func TestKindsAreToldApart(t *testing.T) {
	t.Parallel()
	plain := map[string]string{
		"a.yaml": release("web", strategy), "d.yaml": deployment("web", "web:1"),
		"b.yaml": strings.Replace(releaseOf("StatefulSet", "web", strategy), "  name: web\nspec", "  name: web-set\nspec", 1), "s.yaml": statefulSet("web", "web:2", "1Gi"),
		"c.yaml": strings.Replace(releaseOf("DaemonSet", "web", strategy), "  name: web\nspec", "  name: web-daemon\nspec", 1), "n.yaml": daemonSet("web", "web:3"),
	}
	built := map[string]string{"kustomization.yaml": "resources: [a.yaml, b.yaml, c.yaml, d.yaml, s.yaml, n.yaml]\nnamePrefix: my-\n"}
	maps.Copy(built, plain)
	items := "apiVersion: v1\nkind: List\nitems:\n"
	for _, file := range []string{"a.yaml", "b.yaml", "c.yaml", "d.yaml", "s.yaml", "n.yaml"} {
		items += "-\n" + indent(plain[file])
	}
	for name, tt := range map[string]struct {
		files  map[string]string
		prefix string
	}{
		"files":                   {plain, ""},
		"kustomization":           {built, "my-"},
		"list in a kustomization": {map[string]string{"kustomization.yaml": "resources: [all.yaml]\nnamePrefix: my-\n", "all.yaml": items}, "my-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			wantErrors(t, result)
			got := map[string]string{}
			for _, r := range result.Releases {
				workload := r.WorkloadObject()
				if workload == nil || workload.GetKind() != r.WorkloadKind || workload.GetName() != r.Workload {
					t.Fatalf("release %s is of %s %s, and is given %v", r.Name, r.WorkloadKind, r.Workload, workload)
				}
				got[r.Name] = r.WorkloadKind + " " + r.Workload + " " + imageOf(t, r)
			}
			want := map[string]string{
				tt.prefix + "web": "Deployment " + tt.prefix + "web web:1", tt.prefix + "web-set": "StatefulSet " + tt.prefix + "web web:2",
				tt.prefix + "web-daemon": "DaemonSet " + tt.prefix + "web web:3",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("releases and their workloads (-want +got):\n%s", diff)
			}
		})
	}
}

func imageOf(t *testing.T, r *Release) string {
	t.Helper()
	var template corev1.PodTemplateSpec
	if err := yaml.Unmarshal(r.template, &template); err != nil {
		t.Fatal(err)
	}
	return template.Spec.Containers[0].Image
}

// TestAcrossKinds: rules across two manifests are checked where both exist.
func TestAcrossKinds(t *testing.T) {
	t.Parallel()
	surging := func(surge string) string {
		return strings.Replace(daemonSet("log", "log:1"), "{type: RollingUpdate}", "{rollingUpdate: {maxSurge: "+surge+"}}", 1)
	}
	const bounded = "strategy:\n  maxUnavailable: 1\n  steps: [{replicas: 100%}]\n"
	mislabelled := func(text string) string {
		return strings.Replace(text, "metadata: {labels: {app: ", "metadata: {labels: {app: x", 1)
	}
	tests := map[string]struct {
		files  map[string]string
		want   []string
		errors []string
	}{
		"another kind of that name": {
			map[string]string{"a.yaml": releaseOf("StatefulSet", "web", strategy), "d.yaml": deployment("web", "web:1")}, nil,
			[]string{"a.yaml:1: spec.template is missing, and StatefulSet shop/web, whose template it would be, is not in the repository; the Deployment of that name in d.yaml:1 is another workload"},
		},
		"two releases of a StatefulSet": {
			map[string]string{
				"a.yaml": releaseOf("StatefulSet", "web", strategy+template), "b.yaml": strings.Replace(releaseOf("StatefulSet", "web", strategy+template), "  name: web\n", "  name: b\n", 1),
				"c.yaml": strings.Replace(release("web", strategy+template), "  name: web\n", "  name: c\n", 1),
			},
			[]string{"shop/c"},
			[]string{"a.yaml:1: StatefulSet shop/web is also released in b.yaml:1", "b.yaml:1: StatefulSet shop/web is also released in a.yaml:1"},
		},
		"no template": {
			map[string]string{"a.yaml": releaseOf("DaemonSet", "log", strategy), "d.yaml": "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: log}\n"}, nil,
			[]string{"d.yaml:1: DaemonSet shop/log has no spec.template, and its release has none either"},
		},
		"template that is wrong": {
			map[string]string{"a.yaml": releaseOf("StatefulSet", "web", strategy), "d.yaml": strings.Replace(faulty, "kind: Deployment", "kind: StatefulSet", 1)}, nil,
			[]string{"d.yaml:6: spec.template.spec.containers[0].image: must be a string, not the number 5: put it into quotes"},
		},
		"volumes that are wrong": {
			map[string]string{"a.yaml": releaseOf("StatefulSet", "db", strategy), "d.yaml": strings.Replace(statefulSet("db", "db:1", "1Gi"), "storage: 1Gi", "storage: much", 1)}, nil,
			[]string{"d.yaml:12: spec.volumeClaimTemplates[0].spec.resources.requests[storage]: "},
		},
		"selector of a Deployment": {
			map[string]string{"a.yaml": release("web", strategy), "d.yaml": mislabelled(deployment("web", "web:1"))}, nil,
			[]string{"d.yaml:11: spec.template.metadata.labels: the API server refuses a template that the selector of Deployment web does not match"},
		},
		"selector of a StatefulSet": {
			map[string]string{"a.yaml": releaseOf("StatefulSet", "db", strategy), "d.yaml": mislabelled(statefulSet("db", "db:1", "1Gi"))}, nil,
			[]string{"d.yaml:15: spec.template.metadata.labels: the API server refuses a template that the selector of StatefulSet db does not match"},
		},
		"selector of a DaemonSet": {
			map[string]string{"a.yaml": releaseOf("DaemonSet", "log", strategy), "d.yaml": mislabelled(daemonSet("log", "log:1"))}, nil,
			[]string{"d.yaml:11: spec.template.metadata.labels: the API server refuses a template that the selector of DaemonSet log does not match"},
		},
		"template of the release": {
			map[string]string{"a.yaml": releaseOf("StatefulSet", "db", strategy+template), "d.yaml": statefulSet("db", "db:1", "1Gi")}, nil,
			[]string{"a.yaml:8: spec.template.metadata.labels: the API server refuses a template that the selector of StatefulSet db does not match"},
		},
		"surge": {
			map[string]string{"a.yaml": releaseOf("DaemonSet", "log", strategy), "d.yaml": surging("10%")}, nil,
			[]string{"a.yaml:7: spec.strategy.maxUnavailable: must be given, since DaemonSet log has spec.updateStrategy.rollingUpdate.maxSurge"},
		},
		"surge, and a limit": {map[string]string{"a.yaml": releaseOf("DaemonSet", "log", bounded), "d.yaml": surging("1")}, []string{"shop/log"}, nil},
		"no surge":           {map[string]string{"a.yaml": releaseOf("DaemonSet", "log", strategy), "d.yaml": surging("0")}, []string{"shop/log"}, nil},
		"surge that is none": {map[string]string{"a.yaml": releaseOf("DaemonSet", "log", strategy), "d.yaml": surging("many")}, []string{"shop/log"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			wantErrors(t, result, tt.errors...)
			wantReleases(t, result, tt.want...)
		})
	}
}

// TestStrategyOfKinds: a setting that says nothing for workloads of the kind is refused.
func TestStrategyOfKinds(t *testing.T) {
	t.Parallel()
	for given, refused := range map[string]map[string]string{
		"maxSurge: 1":                 {"StatefulSet": "maxSurge: Forbidden: is for Deployments", "DaemonSet": "maxSurge: Forbidden: is for Deployments"},
		"podReplacement: Terminated":  {"StatefulSet": "podReplacement: Forbidden: is for Deployments", "DaemonSet": "podReplacement: Forbidden: is for Deployments"},
		"allowMixedVersions: true":    {"StatefulSet": "allowMixedVersions: Forbidden: is for Deployments", "DaemonSet": "allowMixedVersions: Forbidden: is for Deployments"},
		"allowMixedVersions: false":   {},
		"order: [{age: OldestFirst}]": {"StatefulSet": "order: Forbidden: is not for StatefulSets"},
		"order: []":                   {},
		"pausePoints: true":           {"StatefulSet": "pausePoints: Forbidden: is not for StatefulSets"},
		"pausePoints: false":          {},
		"stepBack: RemovePods":        {"DaemonSet": "stepBack: Forbidden: RemovePods is not for DaemonSets"},
		"stepBack: KeepPods":          {},
		"maxUnavailable: 2":           {},
	} {
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			result := read(t, map[string]string{"r.yaml": releaseOf(kind, "web", template+fmt.Sprintf("strategy:\n  %s\n  steps: [{replicas: 100%%}]\n", given))})
			if message := refused[kind]; message != "" {
				wantErrors(t, result, "r.yaml:9: spec.strategy."+message)
				continue
			}
			wantErrors(t, result)
			wantReleases(t, result, "shop/web")
		}
	}
}

// TestChangedClaims: values that the API server fills in don't count, and all others do.
func TestChangedClaims(t *testing.T) {
	t.Parallel()
	const kept = "[{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, creationTimestamp: null}, " +
		"spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, storageClassName: fast, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}]"
	const given = "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1024Mi}}}}"
	for text, want := range map[string][]string{
		"[" + given + "]": nil,
		"[" + strings.Replace(given, "1024Mi", "2Gi", 1) + "]":                                 {"data"},
		"[" + strings.Replace(given, "storageClassName: fast, ", "", 1) + "]":                  {"data"},
		"[" + strings.Replace(given, "accessModes", "volumeMode: Block, accessModes", 1) + "]": {"data"},
		"[" + strings.Replace(given, "name: data", "name: data, labels: {a: b}", 1) + "]":      {"data"},
		"[" + strings.Replace(given, "name: data", "name: logs", 1) + "]":                      {"data", "logs"},
		"[" + given + ", {metadata: {name: logs}}]":                                            {"logs"},
		"[]": {"data"},
	} {
		if diff := cmp.Diff(want, ChangedClaims(claimsIn(t, text), claimsIn(t, kept))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func claimsIn(t *testing.T, text string) []corev1.PersistentVolumeClaim {
	t.Helper()
	var claims []corev1.PersistentVolumeClaim
	if err := yaml.Unmarshal([]byte(text), &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// TestOtherKindsOfOurs: a source, a gate and a server of metrics are left out. A pusher neither
// names servers that get Secrets, nor decides gates.
func TestOtherKindsOfOurs(t *testing.T) {
	t.Parallel()
	files := map[string]string{"web.yaml": release("web", strategy), "deploy.yaml": deployment("web", "web:1")}
	resources := "resources: [web.yaml, deploy.yaml"
	for _, kind := range []string{"ReleaseSource", "MetricProvider", "Gate"} {
		files[kind+".yaml"] = "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: " + kind +
			"\nmetadata: {name: x}\nspec: {prometheus: {address: http://evil.test, secretRef: {name: prometheus}}}\n"
		resources += ", " + kind + ".yaml"
	}
	built := maps.Clone(files)
	built["kustomization.yaml"] = resources + "]\n"
	for name, files := range map[string]map[string]string{"files": files, "kustomization": built} {
		result := read(t, files)
		wantErrors(t, result)
		wantReleases(t, result, "shop/web")
		if len(result.Releases) == 1 && result.Releases[0].Object().GetKind() != "BatchRelease" {
			t.Errorf("%s: has %s", name, result.Releases[0].Object().GetKind())
		}
	}
}
