package access

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestAStolenAccount: a thief of the dashboard's token can act as the mightiest user, and still
// reads no Secret, creates no pod and grants no right: the account may impersonate only for the
// dashboard's own requests.
func TestAStolenAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	w.token("mighty")
	mighty := rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "mighty"}
	w.bind("cluster-admin", mighty)
	as := map[string]rest.ImpersonationConfig{
		"itself":  {},
		"masters": {UserName: "root", Groups: []string{"system:masters"}},
		"account": {UserName: "system:serviceaccount:" + w.namespace + ":mighty"},
		"node":    {UserName: "system:node:node-0", Groups: []string{"system:nodes"}},
	}
	for name, who := range as {
		cfg := rest.CopyConfig(w.account)
		cfg.Impersonate = who
		c, err := client.New(cfg, cptest.ClientOptions(t, cfg))
		if err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "grab"}, RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin",
		}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "grab"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "a", Image: "a"}},
		}}
		in := client.InNamespace(w.namespace)
		for what, err := range map[string]error{
			"list Secrets":     c.List(t.Context(), &corev1.SecretList{}, in),
			"list ConfigMaps":  c.List(t.Context(), &corev1.ConfigMapList{}, in),
			"create a pod":     c.Create(t.Context(), pod),
			"bind a role":      c.Create(t.Context(), binding),
			"delete a release": c.Delete(t.Context(), &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}),
			"create a release": c.Create(t.Context(), release(w.namespace)),
		} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("as %s may %s: %v", name, what, err)
			}
		}
	}
}

// TestBeforeConstrainedImpersonation: an API server before constrained impersonation: without the
// rights of the older kind nobody gets in, with them everybody is themselves, and the mightiest
// stay out.
func TestBeforeConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, []byte(`ada-token,ada,7,"dev,ops"
masters-token,root,1,"system:masters"
node-token,system:node:a,2,"system:nodes"
space-token,"root ",3,
`), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := cptest.Options()
	if err != nil {
		t.Fatal(err)
	}
	options.ExtraArgs = map[string][]string{"kube-apiserver": {"--feature-gates=ConstrainedImpersonation=false", "--token-auth-file=" + file}}
	cp := cptest.Own(t, options)
	try := func(w *world, token string) result {
		return w.browser().do(http.MethodPost, "/login", url.Values{"token": {token}})
	}

	w := worldOn(t, cp.Access, metav1.NamespaceDefault, tokens, constrained)
	if got := try(w, "ada-token"); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, "check the rights of its service account") {
		t.Errorf("with rights that the API server does not know: got %s: %s", got.Status, got.body)
	}
	w.grantComponent(unconstrained)
	cptest.Eventually(t, time.Minute, func() error { // the API server has heard of the role
		w.clock.Step(time.Second)
		if got := try(w, "ada-token"); got.StatusCode != http.StatusSeeOther {
			return apierrors.NewUnauthorized(got.body)
		}
		return nil
	})
	page := w.browser().login("ada-token").get("/?namespace=default").sees(t)
	if page.Name != "ada" || !slices.Equal(page.Groups, []string{"dev", "ops"}) || !strings.Contains(page.Releases, `"ada" cannot list`) {
		t.Errorf("a person: %+v", page)
	}
	for token, says := range map[string]string{"masters-token": "system:masters", "node-token": "part of Kubernetes", "space-token": "a space at an end"} {
		if got := try(w, token); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, says) || len(got.Cookies()) > 0 {
			t.Errorf("%s: got %s: %s", token, got.Status, got.body)
		}
	}
	if strings.Contains(w.log.String(), "-token") {
		t.Errorf("the log has a token:\n%s", w.log)
	}
}
