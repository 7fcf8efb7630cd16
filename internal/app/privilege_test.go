package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestLeastPrivilege: the rights in config/rbac are enough for a release of each kind from Git,
// from the first deployment to the end and the deletion of the release, under leader election; the
// API server refuses nothing.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	releaseFromGit(t, cptest.Namespace(t), "sluice-system", controllerAccount(t))
}

// TestLeastPrivilegeInNamespace: the roles for an installation in one namespace are minimal, too.
func TestLeastPrivilegeInNamespace(t *testing.T) {
	t.Parallel()
	namespace := cptest.Namespace(t)
	releaseFromGit(t, namespace, namespace, confinedAccount(t, namespace))
}

// releaseFromGit runs a controller for the namespace and takes a release through it.
func releaseFromGit(t *testing.T, namespace, leaseNamespace string, account *rest.Config) {
	t.Helper()
	c, repository := newClient(t), newRepository(t)
	start(t, account, app.Options{
		Version: namespace, Namespaces: []string{namespace}, LeaderElection: true, LeaseNamespace: leaseNamespace,
		Git: gitrepo.Options{AllowFile: true},
	})

	repository.push("v1")
	grantDeployer(t, c, namespace)
	source := newSource(namespace, repository)
	if err := c.Create(t.Context(), source); err != nil {
		t.Fatalf("create source: %v", err)
	}
	var releases []*v1alpha1.BatchRelease
	for kind, name := range released {
		releases = append(releases, releaseOf(t, namespace, kind, name))
	}
	for _, release := range releases {
		awaitRelease(t, c, release, "deployed for the first time", completed)
	}
	repository.push("v2")
	for _, release := range releases {
		awaitRelease(t, c, release, "blocking", blocking)
		confirm(t, c, release)
	}
	for _, release := range releases {
		awaitRelease(t, c, release, "completed", func(status v1alpha1.BatchReleaseStatus) bool {
			return completed(status) && status.CurrentStepIndex == 1
		})
	}
	if err := c.Delete(t.Context(), source); err != nil {
		t.Fatalf("delete source: %v", err)
	}
	for _, release := range releases {
		if err := c.Delete(t.Context(), release); client.IgnoreNotFound(err) != nil {
			t.Fatalf("delete release: %v", err)
		}
		cptest.Eventually(t, soon, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release)
			if err == nil {
				return fmt.Errorf("want the release gone, it has finalizers %v", release.Finalizers)
			}
			return client.IgnoreNotFound(err)
		})
	}
	if refused := refusals(t, "sluice/"+namespace); len(refused) > 0 {
		t.Errorf("the controller was refused: %s", strings.Join(refused, ", "))
	}
}

// controllerAccount has the rights of config/rbac and no others.
func controllerAccount(t *testing.T) *rest.Config {
	t.Helper()
	rights, err := controlplane.InCheckout("config/rbac")
	if err != nil {
		t.Fatalf("find rights: %v", err)
	}
	if err := controlplane.Apply(t.Context(), cptest.Config(t), rights); err != nil {
		t.Fatalf("apply rights: %v", err)
	}
	return logIn(t, "sluice-system")
}

// confinedAccount has the rights of a controller that is installed for the namespace alone, of
// which it installs everything.
func confinedAccount(t *testing.T, namespace string) *rest.Config {
	t.Helper()
	objects, err := install.Objects(install.Options{Namespace: namespace, Image: "sluice:v1", Namespaced: true})
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	path := filepath.Join(t.TempDir(), "install.yaml")
	file, err := os.Create(path)
	if err != nil {
		t.Fatalf("create file: %v", err)
	}
	if err := errors.Join(install.Write(file, objects), file.Close()); err != nil {
		t.Fatalf("write manifests: %v", err)
	}
	if err := controlplane.Apply(t.Context(), cptest.Config(t), path); err != nil {
		t.Fatalf("apply manifests: %v", err)
	}
	return logIn(t, namespace)
}

// logIn becomes the controller that is installed in the namespace, once the API server knows its
// rights.
func logIn(t *testing.T, namespace string) *rest.Config {
	t.Helper()
	awaitRights(t, namespace, "sluice-controller")
	cfg, err := cptest.Access(t).ServiceAccountConfig(t.Context(), namespace, "sluice-controller")
	if err != nil {
		t.Fatalf("log in as the controller: %v", err)
	}
	return cfg
}

func awaitRights(t *testing.T, namespace, account string) {
	t.Helper()
	cptest.AwaitRights(t, cptest.Config(t), "system:serviceaccount:"+namespace+":"+account)
}

// grantDeployer makes the account as which the source is written, with rights in its namespace.
func grantDeployer(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "deployer"}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: []string{"create", "get"}},
			{
				APIGroups: []string{"rollouts.sluice.dev"}, Resources: []string{"batchreleases"},
				Verbs: []string{"create", "patch", "delete"},
			},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "deployer"}},
		},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	awaitRights(t, namespace, "deployer")
}

func newSource(namespace string, r *repository) *v1alpha1.ReleaseSource {
	return &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "apps"},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL: "file://" + r.dir, ServiceAccountName: "deployer",
			Interval: metav1.Duration{Duration: time.Second}, Timeout: metav1.Duration{Duration: soon},
		},
	}
}

// refusals returns the requests of a user agent that the API server did not allow.
func refusals(t *testing.T, userAgent string) []string {
	t.Helper()
	var refused []string
	counts, err := cptest.Access(t).CountRequests(func(r controlplane.Request) bool {
		ours := strings.HasPrefix(r.UserAgent, userAgent)
		if ours && r.Code == http.StatusForbidden {
			refused = append(refused, r.Verb+" "+r.Resource+" in "+r.Namespace)
		}
		return ours
	})
	if err != nil || counts["patch"] == 0 {
		t.Fatalf("want the controller's requests in the audit log, got %v, %v", counts, err)
	}
	return refused
}

// released are the workloads in the repository, one of each kind.
var released = map[string]string{"Deployment": "web", "StatefulSet": "db", "DaemonSet": "agent"}

// releaseOf returns a release of a workload in two steps.
func releaseOf(t *testing.T, namespace, kind, name string) *v1alpha1.BatchRelease {
	t.Helper()
	release := newRelease(t, namespace)
	release.Name, release.Spec.WorkloadRef.Kind, release.Spec.WorkloadRef.Name = name, kind, name
	return release
}

// repository is a Git repository with the manifests of applications.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

// push commits the manifests with that version of the applications.
func (r *repository) push(version string) {
	r.t.Helper()
	for kind, name := range released {
		pods := template(version)
		pods.Labels = map[string]string{"app": name}
		spec := map[string]any{"selector": map[string]any{"matchLabels": pods.Labels}, "template": pods}
		if kind != "DaemonSet" {
			spec["replicas"] = 2
		}
		r.write(name+".yaml", map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec})
		release := releaseOf(r.t, "", kind, name).Spec
		release.Template = nil // the workload's
		r.write(name+"-release.yaml", map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "BatchRelease",
			"metadata": map[string]any{"name": name}, "spec": release,
		})
	}
	r.git("add", ".")
	r.git("commit", "--quiet", "--message", version)
}

func (r *repository) write(name string, manifest any) {
	r.t.Helper()
	data, err := yaml.Marshal(manifest)
	if err != nil {
		r.t.Fatalf("encode %s: %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o600); err != nil {
		r.t.Fatalf("write %s: %v", name, err)
	}
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	args = append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
