package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// confirmed makes a client of an API server that takes confirmations, and tells of each.
func confirmed(t *testing.T, told func(path, patch string)) client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patch, _ := io.ReadAll(r.Body)
		told(r.Method+" "+r.URL.Path, string(patch))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(releaseNamed("web"))
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("BatchRelease"), meta.RESTScopeNamespace)
	c, err := client.New(&clientrest.Config{Host: server.URL}, client.Options{Scheme: kube.NewScheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
