package access_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestRightsOfTheDashboard: the roles of config/components/dashboard are enough for every page, and
// for the person who may see it all nothing on it is refused: the audit log has no request that
// was.
func TestRightsOfTheDashboard(t *testing.T) {
	t.Parallel()
	namespace, admin := cptest.Namespace(t), cptest.Client(t)
	account := func(name string) *rest.Config {
		t.Helper()
		create(t, admin, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		cfg, err := cptest.Access(t).ServiceAccountConfig(t.Context(), namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		cfg.UserAgent, cfg.QPS = namespace, -1
		return cfg
	}
	own := account("sluice-dashboard")
	grantRoles(t, admin, namespace)
	person := account("grace")
	create(t, admin, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "grace"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "grace"}},
	})
	release(t, admin, namespace)
	heard(t, own, authorizationv1.ResourceAttributes{Verb: "list", Group: "rollouts.sluice.dev", Resource: "batchreleases"})
	heard(t, own, authorizationv1.ResourceAttributes{Verb: "impersonate:serviceaccount", Group: "authentication.k8s.io", Resource: "serviceaccounts"})
	heard(t, own, authorizationv1.ResourceAttributes{Verb: "impersonate-on:serviceaccount:watch", Resource: "pods"})
	heard(t, person, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: "pods"})
	base, visit := serve(t, own)
	got := visit(http.MethodPost, base+"/login", url.Values{"token": {person.BearerToken}})
	if got.status != http.StatusSeeOther {
		t.Fatalf("log in: got %d: %s", got.status, got.body)
	}
	one := "namespace=" + namespace + "&name=web"
	for _, path := range []string{"/", "/releases/" + namespace + "/web", "/sources", "/history", "/live?page=releases", "/live?page=sources", "/live?page=release&" + one} {
		got := visit(http.MethodGet, base+path, nil)
		if got.status != http.StatusOK || strings.Contains(got.body, "cannot") || strings.Contains(got.body, "forbidden") {
			t.Errorf("%s: got %d: %s", path, got.status, got.body)
		}
		if strings.HasPrefix(path, "/releases/") && !strings.Contains(got.body, "web") {
			t.Errorf("%s does not show the release: %s", path, got.body)
		}
	}
	refused, err := cptest.Access(t).CountRequests(func(r controlplane.Request) bool {
		return r.UserAgent == namespace && r.Code == http.StatusForbidden
	})
	if err != nil || len(refused) > 0 {
		t.Errorf("refused were %v, %v", refused, err)
	}
}

func create(t *testing.T, admin client.Client, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T: %v", object, err)
	}
}

// heard waits until the API server has heard of a right.
func heard(t *testing.T, cfg *rest.Config, right authorizationv1.ResourceAttributes) {
	t.Helper()
	c, err := client.New(cfg, cptest.ClientOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, time.Minute, func() error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &right,
		}}
		if err := c.Create(t.Context(), review); err != nil || !review.Status.Allowed {
			return fmt.Errorf("may %s: %v, %w", right.String(), review.Status.Allowed, err)
		}
		return nil
	})
}

// grantRoles gives the dashboard's account the roles of its component, by names of the test's own.
func grantRoles(t *testing.T, admin client.Client, namespace string) {
	t.Helper()
	path, err := controlplane.InCheckout("config/components/dashboard/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range cptest.Decode(t, string(text)) {
		role.SetName(role.GetName() + "-" + namespace)
		create(t, admin, role)
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "sluice-dashboard"}},
		}
		create(t, admin, binding)
		t.Cleanup(func() {
			_ = admin.Delete(context.Background(), binding)
			_ = admin.Delete(context.Background(), role)
		})
	}
}

func release(t *testing.T, admin client.Client, namespace string) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
	create(t, admin, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pods,
	}})
	create(t, admin, &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: v1alpha1.BatchReleaseSpec{
		WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		Template:    &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:2"}]}}`)},
		Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
	}})
}

type answer struct {
	status int
	body   string
}

// serve runs a dashboard with an account, and returns its address and a browser.
func serve(t *testing.T, own *rest.Config) (string, func(method, address string, form url.Values) answer) {
	t.Helper()
	listener, err := access.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + listener.Addr().String()
	door, err := access.NewCluster(own, kube.NewScheme(), access.Options{Tokens: true, PlainHTTP: true, ExternalURL: base, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dashboard.NewCache(own, kube.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	pages := dashboard.New(dashboard.Options{Objects: objects, Door: door, Version: "test", Logger: logr.Discard(), Clock: clock.RealClock{}})
	go func() { ended <- pages.Serve(ctx, listener, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the dashboard is not ready after a minute")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return base, func(method, address string, form url.Values) answer {
		t.Helper()
		got, err := visit(t.Context(), browser, method, address, form)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
}

// visit sends a request. Of a stream it reads the beginning.
func visit(ctx context.Context, browser *http.Client, method, address string, form url.Values) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := browser.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", address, err)
	}
	defer got.Body.Close()
	if strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
		buffer := make([]byte, 1024)
		n, err := got.Body.Read(buffer)
		return answer{got.StatusCode, string(buffer[:n])}, err
	}
	body, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, string(body)}, err
}
