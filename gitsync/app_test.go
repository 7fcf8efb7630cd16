package gitsync_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// TestReadsAsGitHubApp: a GitHub App reads the repository with a token that lets it do nothing
// else, and that it requests when it is needed.
func TestReadsAsGitHubApp(t *testing.T) {
	w := newWorld(t)
	forge := forgetest.Start(t, devforge.Options{Dir: t.TempDir()})
	seed := fstest.MapFS{}
	for name, content := range app("web", "web:1") {
		seed[name] = &fstest.MapFile{Data: []byte(content)}
	}
	if err := forge.CreateRepository(t.Context(), "shop/web", "main", seed); err != nil {
		t.Fatal(err)
	}
	made, err := forge.CreateApp("sluice", devforge.Permissions{"metadata": "read", "contents": "read"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forge.InstallApp(made.ID, "shop", "shop/web"); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"},
		Data:       map[string][]byte{"appID": fmt.Append(nil, made.ID), "privateKey": made.PrivateKey},
	}
	if err := w.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) {
		s.Spec.URL = forge.CloneURL("shop/web")
		s.Spec.SecretRef = &v1alpha1.LocalReference{Name: "app"}
	})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSecret, "spec.forge")

	w.set(fmt.Sprintf(`{"forge":{"baseURL":%q,"owner":"shop","repo":"web","secretRef":{"name":"app"}}}`, forge.URL()))
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:1")
	forge.ForgetRequests()
	w.sync("shop")
	if slices.ContainsFunc(forge.Requests(), func(r devforge.Request) bool { return r.Method == http.MethodPost }) {
		t.Error("want the token used for as long as it is good")
	}

	key, err := forge.RotateAppKey(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["privateKey"] = key
	if err := w.Update(t.Context(), secret, client.FieldOwner("test")); err != nil {
		t.Fatal(err)
	}
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
}
