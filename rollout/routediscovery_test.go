package rollout

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// TestWhatIsServed: a kind that the API server serves, does not serve, or serves in another version
// only is told apart, and from what it can't say.
func TestWhatIsServed(t *testing.T) {
	t.Parallel()
	watched := func(kind string) metav1.APIResource {
		return metav1.APIResource{Name: kind, Kind: kind, Namespaced: true, Verbs: []string{"get", "list", "watch"}}
	}
	status := watched("HTTPRoute")
	status.Name, status.Verbs = "httproutes/status", []string{"get", "patch"}
	list := func(r ...metav1.APIResource) any { return metav1.APIResourceList{APIResources: r} }
	group := metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}, {Version: "v1beta1"}}}
	const base = "/apis/gateway.networking.k8s.io"
	for name, tc := range map[string]struct {
		has     map[string]any
		want    answer
		wantErr bool
	}{
		"served":                {map[string]any{base + "/v1": list(status, watched("HTTPRoute"))}, answer{served: true}, false},
		"no group":              {nil, answer{}, false},
		"another kind":          {map[string]any{base: group, base + "/v1": list(watched("GRPCRoute"))}, answer{}, false},
		"only its status":       {map[string]any{base: group, base + "/v1": list(status)}, answer{}, false},
		"in another version":    {map[string]any{base: group, base + "/v1beta1": list(watched("HTTPRoute"))}, answer{elsewhere: true}, false},
		"forbidden":             {map[string]any{base + "/v1": http.StatusForbidden}, answer{}, true},
		"not ready":             {map[string]any{base + "/v1": http.StatusServiceUnavailable}, answer{}, true},
		"another version fails": {map[string]any{base: group, base + "/v1beta1": http.StatusInternalServerError}, answer{}, true},
		"the group fails":       {map[string]any{base: http.StatusInternalServerError}, answer{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				is, found := tc.has[r.URL.Path]
				if code, fails := is.(int); fails {
					w.WriteHeader(code)
					return
				}
				if !found {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(is)
			}))
			t.Cleanup(server.Close)
			d, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := discoverer{d.RESTClient()}.ask(t.Context(), httpKind)
			if (err != nil) != tc.wantErr {
				t.Fatalf("want an error: %t, got %v", tc.wantErr, err)
			}
			if err != nil {
				return
			}
			if got != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, got)
			}
		})
	}
}
