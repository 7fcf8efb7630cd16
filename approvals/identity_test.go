package approvals_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// keep sets keys of the Secret of the source "shop", and takes away its token.
func (w *forgeWorld) keep(data map[string][]byte) {
	w.Helper()
	var secret corev1.Secret
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop-forge"}, &secret); err != nil {
		w.Fatalf("read Secret: %v", err)
	}
	secret.Data = data
	if err := w.Update(w.Context(), &secret); err != nil {
		w.Fatalf("write Secret: %v", err)
	}
}

// passes has a gate opened, merged by somebody else and passed.
func (w *forgeWorld) passes() *v1alpha1.Gate {
	w.Helper()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	number := w.awaitPull(g)
	w.as("grace").Merge(number, "squash")
	w.sync("shop")
	w.awaitDecision(g, v1alpha1.DecisionPassed)
	return g
}

// TestServiceAccountTokenIsNotSent: Anyone who may write a source must not get the token of an
// account of the namespace sent to a server of theirs.
func TestServiceAccountTokenIsNotSent(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: "shop-forge"}
	if err := w.Delete(w.Context(), &corev1.Secret{ObjectMeta: named}); err != nil {
		t.Fatal(err)
	}
	named.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	token := &corev1.Secret{ObjectMeta: named, Type: corev1.SecretTypeServiceAccountToken, StringData: map[string]string{"token": "t"}}
	if err := w.Create(w.Context(), token); err != nil {
		t.Fatal(err)
	}
	w.startForgeApprovals()
	w.awaitMessage(w.blockOn(w.releaseFrom("shop", "web"), approval()), "kubernetes.io/service-account-token")
}

// TestGitHubApp: a GitHub App opens the pull request as itself, with a token for this repository
// alone.
func TestGitHubApp(t *testing.T) {
	t.Parallel()
	for name, installed := range map[string]bool{"LookedUp": false, "Given": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgeWorld(t)
			app, err := w.forge.CreateApp("sluice-shop", nil)
			if err != nil {
				t.Fatal(err)
			}
			installation, err := w.forge.InstallApp(app.ID, "shop", "shop/web")
			if err != nil {
				t.Fatal(err)
			}
			data := map[string][]byte{"appID": fmt.Append(nil, app.ID), "privateKey": app.PrivateKey}
			if installed {
				data["installationID"] = []byte(strconv.FormatInt(installation, 10))
			}
			w.keep(data)
			w.startForgeApprovals()
			g := w.passes()
			var opened struct{ User struct{ Login, Type string } }
			w.as("ada").Do("GET", fmt.Sprintf("pulls/%d", w.readGate(g).Status.PullRequest.Number), nil, &opened)
			if opened.User.Login != "sluice-shop[bot]" || opened.User.Type != "Bot" {
				t.Errorf("want the app as the author, got %+v", opened.User)
			}
		})
	}
}

// TestPrivateAuthority: a GitHub Enterprise Server with a certificate of a private authority is
// trusted by that authority's, and not without.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	behind, err := url.Parse(w.forge.URL())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(behind))
	t.Cleanup(server.Close)
	source := &v1alpha1.ReleaseSource{}
	source.Namespace, source.Name = w.namespace, "shop"
	patch := fmt.Sprintf(`{"spec":{"forge":{"baseURL":%q}}}`, server.URL)
	if err := w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	w.startForgeApprovals()
	release := w.releaseFrom("shop", "api")
	w.awaitMessage(w.blockOn(release, approval()), "certificate")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.keep(map[string][]byte{"token": []byte(w.tokens["sluice"]), "ca.crt": authority})
	// What has failed is tried again, with the Secret as it is then.
	w.passes()
}

// TestSecretThatCanNotWork: Secrets that can't work are reported, and do not delay anything else.
func TestSecretThatCanNotWork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		data map[string][]byte
		want string
	}{
		"Nothing":   {nil, "give a token or an app"},
		"Both":      {map[string][]byte{"token": []byte("t"), "appID": []byte("1"), "privateKey": []byte("k")}, "not both"},
		"NoNumber":  {map[string][]byte{"appID": []byte("one"), "privateKey": []byte("k")}, "not an app's number"},
		"NoKey":     {map[string][]byte{"appID": []byte("1")}, "private key"},
		"BrokenCA":  {map[string][]byte{"token": []byte("t"), "ca.crt": []byte("x")}, "CA bundle"},
		"BrokenKey": {map[string][]byte{"appID": []byte("1"), "privateKey": []byte("k")}, "private key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForgeWorld(t)
			w.keep(tc.data)
			w.startForgeApprovals()
			w.awaitMessage(w.blockOn(w.releaseFrom("shop", "web"), approval()), tc.want)
		})
	}
}
