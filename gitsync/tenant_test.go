package gitsync_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.Create(w.Context(), object); err != nil {
			w.Fatalf("create %T: %v", object, err)
		}
	}
}

// grant lets a service account of the namespace write what comes from Git.
func (w *world) grant(account string) {
	w.Helper()
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: "releaser"}
	w.create(
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"batchreleases"}, Verbs: []string{"create", "patch", "delete"}},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: named,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "releaser"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: account}},
		},
	)
}

func TestWritesAsTheServiceAccount(t *testing.T) {
	for name, how := range map[string]struct {
		account string
		options gitsync.Options
	}{
		"Named":   {"releaser", gitsync.Options{}},
		"Default": {"", gitsync.Options{DefaultServiceAccount: "releaser"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.push(merge(app("web", "web:1"), db("db:1", "1Gi"), logger("log:1")))
			w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "releaser"}})
			w.controller(how.options)
			w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.ServiceAccountName = how.account })
			source := w.sync("shop")
			user := "system:serviceaccount:" + w.namespace + ":releaser"
			w.wantReady(source, v1alpha1.ReasonApplyFailed, user, "cannot create")
			w.wantErrors(source, "db/release.yaml:1: statefulsets.apps is forbidden", "log/release.yaml:1: daemonsets.apps is forbidden",
				"web/release.yaml:1: deployments.apps is forbidden")
			if w.deployment("web") != nil || w.release("web") != nil || w.release("db") != nil || w.release("log") != nil {
				t.Error("something was written that the account may not write")
			}
			w.grant("releaser")
			cptest.Eventually(t, soon, func() error { // until the API server has heard of the grant
				if source = w.sync("shop"); len(source.Status.Errors) > 0 {
					return &problem{source.Status.Errors[0].Message}
				}
				return nil
			})
			w.wantReady(source, v1alpha1.ReasonSynced)
			w.wantImage("web", "web:1")
			w.push(map[string]string{"web/deploy.yaml": deploymentText("web", "web:2")})
			w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
		})
	}
}

type problem struct{ text string }

func (p *problem) Error() string { return p.text }

// TestJobsAsTheServiceAccount: a release whose gate runs a Job is applied only for an account that
// may create that Job itself.
func TestJobsAsTheServiceAccount(t *testing.T) {
	w := newWorld(t)
	gates := "[{replicas: 1, gates: [{job: {name: migrate}}]}, {replicas: 100%}]"
	w.push(map[string]string{
		"web/release.yaml": releaseText("web", gates), "web/deploy.yaml": deploymentText("web", "web:1"),
		"web/job.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: m, image: "migrate:1"}]}}}
`,
	})
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "releaser"}})
	w.grant("releaser")
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.ServiceAccountName = "releaser" })
	source := w.syncUntil(func(s *v1alpha1.ReleaseSource) error {
		if w.deployment("web") == nil || len(s.Status.Errors) == 0 || !strings.Contains(s.Status.Errors[0].Message, "jobs.batch is forbidden") {
			return &problem{"want the release refused for its Job"}
		}
		return nil
	})
	w.wantReady(source, v1alpha1.ReasonApplyFailed, "jobs")
	if w.release("web") != nil {
		t.Fatal("want no release with a Job that its account may not create")
	}
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: "runner"}
	w.create(
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "runner"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: "releaser"}},
		},
	)
	w.syncUntil(func(s *v1alpha1.ReleaseSource) error {
		if len(s.Status.Errors) > 0 {
			return &problem{s.Status.Errors[0].Message}
		}
		return nil
	})
	release := w.release("web")
	if release == nil || release.Spec.Strategy.Steps[0].Gates[0].Job.Template == nil {
		t.Fatalf("want the release with the template of the Job, got %v", release)
	}
	var jobs batchv1.JobList
	if err := w.List(t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) > 0 {
		t.Errorf("want no Job before its gate, got %d, %v", len(jobs.Items), err)
	}
}

func TestNamespaces(t *testing.T) {
	w := newWorld(t)
	other := cptest.Namespace(t)
	elsewhere := func(name string) string {
		return strings.Replace(releaseText(name, steps), "  name: "+name+"\n", "  name: "+name+"\n  namespace: "+other+"\n", 1)
	}
	files := app("web", "web:1")
	files["other/release.yaml"] = elsewhere("other")
	files["other/deploy.yaml"] = strings.Replace(deploymentText("other", "other:1"), "  name: other\n", "  name: other\n  namespace: "+other+"\n", 1)
	w.push(files)
	stop := w.controller(gitsync.Options{}, other)
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid, "its source may only write to "+w.namespace)
	w.wantErrors(source, "other/release.yaml:1: is in namespace "+other)
	w.wantImage("web", "web:1")
	stop()

	w.controller(gitsync.Options{AllowedNamespaces: []string{other}}, other)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	release := &v1alpha1.BatchRelease{}
	key := client.ObjectKey{Namespace: other, Name: "other"}
	if err := w.Get(t.Context(), key, release); err != nil {
		t.Fatal(err)
	}
	if label := release.Labels[v1alpha1.SourceLabel]; !strings.HasPrefix(label, "namespaces-") || label == "shop" {
		t.Errorf("the source's label in another namespace is %q, which must name the source's own", label)
	}
	w.push(nil, "other")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	if err := w.Get(t.Context(), key, release); client.IgnoreNotFound(err) != nil || err == nil && release.DeletionTimestamp.IsZero() {
		t.Errorf("the release in the other namespace was not pruned: %v", err)
	}
}

func TestTwoSourcesDontFight(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	w.source(func(s *v1alpha1.ReleaseSource) { s.Name = "second" })
	source := w.sync("second")
	w.wantReady(source, v1alpha1.ReasonApplyFailed, "ReleaseSource "+w.namespace+"/shop writes it")
	if got := w.release("web").Labels[v1alpha1.SourceLabel]; got != "shop" {
		t.Errorf("the release is %s's now", got)
	}

	first := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	if err := w.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, func() error {
		if source = w.sync("second"); len(source.Status.Errors) > 0 {
			return &problem{source.Status.Errors[0].Message}
		}
		return nil
	})
	if got := w.release("web").Labels[v1alpha1.SourceLabel]; got != "second" {
		t.Errorf("a release whose source is gone stays with %s", got)
	}
}

func TestReleasesMadeByHandAreTakenOver(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:2"))
	cptest.Kubectl(t, "create", "-n", w.namespace, "-f", manifestFile(t, releaseText("web", steps)))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:2")
	if got := w.release("web").Labels[v1alpha1.SourceLabel]; got != "shop" {
		t.Errorf("its source is %q, want shop", got)
	}
}

func TestSecrets(t *testing.T) {
	const password = "s3cr3t-t0k3n"
	w := newWorld(t)
	guarded := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "ada" || given != password {
			http.Error(rw, "not "+user+" with "+given, http.StatusUnauthorized)
			return
		}
		w.handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(guarded.Close)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) {
		s.Spec.URL = guarded.URL + "/" + w.repo.Name()
		s.Spec.SecretRef = &v1alpha1.LocalReference{Name: "git"}
	})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSecret, `"git" not found`)

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "git"},
		StringData: map[string]string{"username": "ada", "password": "wrong-password"},
	}
	w.create(secret)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonFetchFailed, "certificate")
	update := func(data map[string]string) {
		t.Helper()
		secret.StringData = data
		if err := w.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	update(map[string]string{"ca.crt": "nonsense"})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSecret, "CA bundle")
	update(map[string]string{"ca.crt": string(caOf(guarded))})
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonInvalidSecret, "the server refused")
	for _, condition := range source.Status.Conditions {
		if strings.Contains(condition.Message, "wrong-password") {
			t.Errorf("the status holds the password: %s", condition.Message)
		}
	}
	update(map[string]string{"password": password})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:1")
}

func TestSourcesOfOneRepositoryShareItsFetch(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{
		"a/r.yaml": releaseText("a", steps), "a/d.yaml": deploymentText("a", "a:1"),
		"b/r.yaml": releaseText("b", steps), "b/d.yaml": deploymentText("b", "b:1"),
	})
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Path = "a" })
	w.sync("shop")
	before := w.handler.Sent()
	w.source(func(s *v1alpha1.ReleaseSource) { s.Name, s.Spec.Path = "second", "b" })
	w.wantReady(w.sync("second"), v1alpha1.ReasonSynced)
	w.wantImage("a", "a:1")
	w.wantImage("b", "b:1")
	if sent := w.handler.Sent() - before; sent > 2<<10 {
		t.Errorf("a second source of a repository that was read caused %d bytes: it was fetched again", sent)
	}
}
