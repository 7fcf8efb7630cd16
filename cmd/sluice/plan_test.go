package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// workingTree is a repository that is checked out.
type workingTree struct {
	*testing.T

	root string
}

// newTree has one commit, of a file that Sluice does not read.
func newTree(t *testing.T) *workingTree {
	t.Helper()
	w := &workingTree{t, writeFiles(t, map[string]string{"README.md": "a shop\n"})}
	w.git("init", "--quiet", "--initial-branch=main")
	w.git("add", "--all")
	w.git("commit", "--quiet", "--message", "Nothing yet")
	return w
}

func (w *workingTree) git(args ...string) {
	w.Helper()
	command := exec.CommandContext(w.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	command.Dir = w.root
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if output, err := command.CombinedOutput(); err != nil {
		w.Fatalf("git %s: %v: %s", args[0], err, output)
	}
}

// commit writes deploy/web.yaml, and commits it.
func (w *workingTree) commit(subject, text string) {
	w.Helper()
	w.files(subject, map[string]string{"deploy/web.yaml": text})
}

// files writes files, and commits them.
func (w *workingTree) files(subject string, files map[string]string) {
	w.Helper()
	for name, text := range files {
		path := filepath.Join(w.root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	w.git("add", "--all")
	w.git("commit", "--quiet", "--message", subject)
}

// planRepository returns a repository of three commits: a first version, a branch with the second,
// and something else on main.
func planRepository(t *testing.T) string {
	t.Helper()
	tree, web := newTree(t), lintedDeployment+"---\n"+lintedRelease
	tree.commit("First version", web)
	tree.git("branch", "next")
	tree.commit("Smaller steps", strings.Replace(web, "replicas: 1}", "replicas: 5%}", 1))
	tree.git("checkout", "--quiet", "next")
	tree.commit("Second version", strings.Replace(web, "image: nginx", "image: httpd", 1))
	tree.commit("Broken", strings.Replace(web, "replicas: 1}", "replica: 1}", 1))
	return tree.root
}

// TestPlan compares commits of a real repository.
func TestPlan(t *testing.T) {
	t.Parallel()
	root := planRepository(t)
	elsewhere, kubeconfig := t.TempDir(), writeNowhere(t)
	cases := map[string]struct {
		reason         string
		folder         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Parent":    {"a commit is compared with the one before", "deploy", []string{"--to=next~1"}, exitOK, "1 released\n\nshop/web is released in 2 batches\n  spec.template.spec.containers[web].image: nginx -> httpd\n", ""},
		"Root":      {"the folder is the one that a source reads", ".", []string{"--to=next~1"}, exitOK, "1 released", ""},
		"MergeBase": {"what happened on main since is not undone", "deploy", []string{"--from=main", "--to=next~1", "--merge-base"}, exitOK, ": 1 released\n", ""},
		"TwoEnds":   {"without it the two are compared as they are", "deploy", []string{"--from=next~1", "--to=main"}, exitOK, "is rolled back in 2 batches", ""},
		"Rules":     {"other rules replace no pod", "deploy", []string{"--to=main"}, exitOK, "has other rules; no pod is replaced", ""},
		"New":       {"a folder that was not there had no releases", "deploy", []string{"--to=next~2"}, exitOK, ": 1 added\n", ""},
		"First":     {"nor had what was before the first commit", ".", []string{"--to=main~2"}, exitOK, "nothing -> ", ""},
		"History":   {"how far to look back can be said", "deploy", []string{"--from=next~1", "--to=main", "--history=0"}, exitOK, ": 1 released\n", ""},
		"Broken":    {"what is at fault is said, and fails", "deploy", nil, exitError, "error: deploy/web.yaml:13: spec.strategy.steps[0].replica: unknown field", "1 error in the files of "},
		"Comment":   {"a comment can be found again", "deploy", []string{"--to=next~1", "-o", "markdown"}, exitOK, "<!-- sluice plan -->\n### Sluice: 1 released\n", ""},
		"NoCommit":  {"a revision must be there", "deploy", []string{"--from=nowhere"}, exitError, "", "there is no revision nowhere"},
		"NoFrom":    {"a merge base is one of two", "deploy", []string{"--merge-base"}, exitUsage, "", "needs --from"},
		"NoFormat":  {"formats are few", "deploy", []string{"-o", "xml"}, exitUsage, "", "not one of text, json, markdown"},
		"Two":       {"one folder is compared", "deploy", []string{"apps"}, exitUsage, "", "only one path is allowed"},
		"NoHistory": {"nobody can look ahead", "deploy", []string{"--history=-1"}, exitUsage, "", "--history"},
		"NoAnswer":  {"a cluster that is asked must answer", "deploy", []string{"--to=next~1", "--cluster", "-n=shop", "--kubeconfig=" + kubeconfig}, exitError, "", "look up shop/web in the cluster: "},
		"NoBounds":  {"files don't say what is read of a cluster", "deploy", []string{"--to=next~1", "--cluster", "--kubeconfig=" + kubeconfig}, exitUsage, "", "--cluster needs --namespace"},
		"NotAsked":  {"a cluster that is named is to be asked", "deploy", []string{"--context=nowhere"}, exitUsage, "", "--context needs --cluster"},
		"NoGit":     {"a repository is needed", elsewhere, nil, exitError, "", "there is no Git repository"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := tc.folder
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(root, folder)
			}
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), append([]string{"plan", folder}, tc.args...), &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s%s", tc.reason, tc.code, code, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
		})
	}
}

const plannedWeb = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2"}]}}
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {maxUnavailable: 2, steps: [{replicas: 1}, {replicas: 100%}]}
`

// TestPlanCluster: a user with read access sees the effects of a commit in a real cluster.
func TestPlanCluster(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer, stranger := s.viewer(), s.person("stranger", "sluice-viewer")
	s.deploy("web")
	s.create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	})
	tree := newTree(t)
	tree.commit("Second version", plannedWeb)
	tree.commit("Third version", strings.Replace(plannedWeb, "web:2", "web:3", 1))
	plan := []string{"plan", filepath.Join(tree.root, "deploy"), "--cluster"}

	got := s.ok(viewer, plan...)
	s.want(got, "/web is released in 2 batches", "the Deployment has 4 replicas, its manifest says 10;", "2/2     4 of 4 (100%)   +3",
		"the release says: all pods run revision", "warning: PodDisruptionBudget web lets 0 of 4 pods be missing, the release 2")
	s.want(s.ok(stranger, plan...), "not looked at: deployments.apps \"web\" is forbidden", "10 of 10 (100%)")

	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	s.want(s.ok(viewer, plan...), "the release says: batch 1/2 done", "replaces the release in progress")
	tree.commit("Queue", strings.NewReplacer("web:2", "web:4", "maxUnavailable: 2", "supersede: Queue").Replace(plannedWeb))
	s.want(s.ok(viewer, plan...), "waits until the release in progress has ended")
}

const plannedKinds = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 5
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db, kind: StatefulSet}}
  template: {metadata: {labels: {app: db, kind: StatefulSet}}, spec: {containers: [{name: db, image: "db:2"}]}}
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: db}
spec:
  workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
  strategy: {maxUnavailable: 2, steps: [{replicas: 1}, {replicas: 100%}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent, kind: DaemonSet}}
  template: {metadata: {labels: {app: agent, kind: DaemonSet}}, spec: {containers: [{name: agent, image: "agent:2"}]}}
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: agent}
spec:
  workloadRef: {apiVersion: apps/v1, kind: DaemonSet, name: agent}
  strategy: {steps: [{replicas: 50%}, {replicas: 100%}]}
`

// TestPlanClusterOfEachKind: a StatefulSet has another size in the cluster, and a DaemonSet has one
// nowhere else.
func TestPlanClusterOfEachKind(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	set, daemon := s.statefulSet("db", 3), s.daemonSet("agent")
	s.releaseOf("db", set)
	s.releaseOf("agent", daemon)
	s.create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "quorum"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		},
	})
	tree := newTree(t)
	tree.commit("Second version", plannedKinds)
	tree.commit("Third version", strings.NewReplacer("db:2", "db:3", "agent:2", "agent:3").Replace(plannedKinds))
	plan := []string{"plan", filepath.Join(tree.root, "deploy"), "--cluster"}

	got := s.ok(viewer, plan...)
	s.want(got, "/db is released in 2 batches", "the StatefulSet has 3 replicas, its manifest says 5;", "2/2     3 of 3 (100%)   +2",
		"warning: PodDisruptionBudget quorum lets 1 of 3 pods be missing, the release 2",
		"/agent is released in 2 batches", "1/2     1 of 2 (50%)", "2/2     2 of 2 (100%)")
	if strings.Contains(got, "how many there are is not known") {
		t.Errorf("want the nodes of the DaemonSet to be known, got:\n%s", got)
	}
	tree.commit("Fixed fields", strings.NewReplacer("kind: StatefulSet}}", "kind: other}}", "kind: DaemonSet}}", "kind: other}}",
		"podManagementPolicy: Parallel", "serviceName: other").Replace(plannedKinds))
	s.want(s.ok(viewer, plan...), "spec.podManagementPolicy, spec.selector, spec.serviceName: Kubernetes does not let it change, and StatefulSet db in Git differs from the cluster's",
		"spec.selector: Kubernetes does not let it change, and DaemonSet agent in Git differs from the cluster's")
	tree.commit("Put back", strings.NewReplacer("db:2", "db:3", "agent:2", "agent:3").Replace(plannedKinds))
	s.pushImage("db", set)
	s.want(s.ok(viewer, plan...), "the release says: batch 1/2 done", "replaces the release in progress")
}

// TestPlanClusterOfRoutes: an obstacle to sharing requests is reported before the release begins,
// and objects that the user may not read are not reported as missing.
func TestPlanClusterOfRoutes(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	s := newShop(t)
	viewer, stranger := s.viewer(), s.person("stranger", "sluice-viewer")
	s.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"httproutes", "referencegrants"}, Verbs: []string{"get", "list"},
	}}})
	s.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: viewer}},
	})
	s.deploy("web")
	tree, edge := newTree(t), cptest.Namespace(t)
	routed := strings.Replace(plannedWeb, "steps: [{replicas: 1}", "traffic: {routes: [{kind: HTTPRoute, name: web, service: web}, "+
		"{kind: HTTPRoute, name: edge, namespace: "+edge+", service: web}, {kind: Ingress, name: web, service: web}]}, steps: [{replicas: 10%, traffic: 10%}", 1)
	tree.commit("Second version", routed)
	tree.commit("Third version", strings.Replace(routed, "web:2", "web:3", 1))
	plan := []string{"plan", filepath.Join(tree.root, "deploy"), "--cluster"}

	const moved = "requests can't be moved: "
	got := s.ok(viewer, plan...)
	s.want(got, moved+"HTTPRoute web: it does not exist: create it", moved+"HTTPRoute "+edge+"/edge: a ReferenceGrant in namespace "+edge+" must let BatchReleases",
		moved+"Ingress web: it does not exist: create it", moved+"Service "+s.namespace+"/web: it does not exist: create it", "REQUESTS")
	if strings.Contains(got, "/edge: it does not exist") {
		t.Errorf("want nobody told what exists in a namespace that has not agreed, got:\n%s", got)
	}
	got = s.ok(stranger, plan...)
	if strings.Contains(got, "it does not exist") || strings.Contains(got, "can share") {
		t.Errorf("want nothing told of what may not be read, got:\n%s", got)
	}
	s.want(got, `not looked at: httproutes.gateway.networking.k8s.io "web" is forbidden`, `not looked at: ingresses.networking.k8s.io "web" is forbidden`,
		`not looked at: services "web" is forbidden`)

	s.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	s.create(&networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	})
	s.httpRoute(s.namespace, "web", "api")
	s.httpRoute(edge, "edge", "web")
	got = s.ok(viewer, plan...)
	s.want(got, moved+"HTTPRoute "+s.namespace+"/web: no rule refers to Service web: refer to the Service",
		moved+"HTTPRoute "+edge+"/edge: a ReferenceGrant in namespace "+edge+" must let BatchReleases", "Ingress web can share the requests for Service web")
	if strings.Contains(got, "it does not exist") || strings.Contains(got, "edge can share") {
		t.Errorf("want nothing absent once it is there, and nothing to be shared that is not granted, got:\n%s", got)
	}
	s.grant(edge, referrer{"rollouts.sluice.dev", "BatchRelease", s.namespace}, "gateway.networking.k8s.io", "HTTPRoute")
	s.want(s.ok(viewer, plan...), moved+"HTTPRoute "+edge+"/edge: a ReferenceGrant in namespace "+s.namespace+" must let HTTPRoutes")
	s.grant(s.namespace, referrer{"gateway.networking.k8s.io", "HTTPRoute", edge}, "", "Service")
	s.want(s.ok(viewer, plan...), "HTTPRoute "+edge+"/edge can share the requests for Service web")
}

// httpRoute makes one with a rule that refers to a Service of the shop.
func (s *shop) httpRoute(namespace, name, service string) {
	s.Helper()
	s.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"rules": []any{map[string]any{
			"backendRefs": []any{map[string]any{"name": service, "namespace": s.namespace, "port": int64(80)}},
		}}},
	}})
}

// referrer is the origin of a reference.
type referrer struct{ group, kind, namespace string }

// grant lets it refer to a kind of objects of a namespace.
func (s *shop) grant(namespace string, from referrer, group, kind string) {
	s.Helper()
	s.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant", "metadata": map[string]any{"namespace": namespace, "name": "sluice"},
		"spec": map[string]any{
			"from": []any{map[string]any{"group": from.group, "kind": from.kind, "namespace": from.namespace}},
			"to":   []any{map[string]any{"group": group, "kind": kind}},
		},
	}})
}
