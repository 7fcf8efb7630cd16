package rollout

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/workload"
)

const claimedCommit = "0123456789abcdef0123456789abcdef01234567"

// TestHostileOrigin: for any applier that a workload names, Sluice reads only objects of Flux and
// Argo CD, at most two of them. It takes a commit from one that lists the workload.
func TestHostileOrigin(t *testing.T) {
	t.Parallel()
	const flux, helm, argo = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "argocd.argoproj.io/tracking-id"
	named := func(group, name string) map[string]string {
		return map[string]string{group + "/namespace": "apps", group + "/name": name}
	}
	lists := map[string]any{"inventory": map[string]any{"entries": []any{map[string]any{"id": "shop_web_apps_Deployment"}}}}
	with := func(status map[string]any, more map[string]any) map[string]any {
		all := maps.Clone(more)
		maps.Copy(all, status)
		return map[string]any{"status": all}
	}
	kindOf := map[string]string{"kustomizations": "Kustomization", "helmreleases": "HelmRelease", "applications": "Application"}
	shown := with(lists, map[string]any{"lastAppliedRevision": "main@sha1:" + claimedCommit})
	for name, tc := range map[string]struct {
		labels   map[string]string
		tracking string
		// answer has what the API server answers to each request; nil for 403.
		answer map[string]any
		want   string
	}{
		"listed": {named(flux, "a"), "", shown, claimedCommit},
		"synced": {nil, "shop:", map[string]any{"status": map[string]any{
			"resources": []any{map[string]any{"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}},
			"sync":      map[string]any{"revision": claimedCommit},
		}}, claimedCommit},
		"no rights":               {named(flux, "a"), "x:apps/Deployment:shop/web", nil, ""},
		"lists another":           {named(flux, "a"), "", with(nil, map[string]any{"lastAppliedRevision": "sha1:" + claimedCommit, "inventory": map[string]any{"entries": []any{map[string]any{"id": "shop_api_apps_Deployment"}}}}), ""},
		"a revision with more":    {named(flux, "a"), "", with(lists, map[string]any{"lastAppliedRevision": "sha1:" + claimedCommit + "\n@octocat"}), ""},
		"a list for a revision":   {named(flux, "a"), "", with(lists, map[string]any{"lastAppliedRevision": []any{claimedCommit}}), ""},
		"text for a status":       {named(flux, "a"), "", map[string]any{"status": "x"}, ""},
		"numbers for entries":     {named(flux, "a"), "", map[string]any{"status": map[string]any{"inventory": map[string]any{"entries": []any{1, nil, "x"}}}}, ""},
		"text for resources":      {nil, "x:", map[string]any{"status": map[string]any{"resources": "x", "sync": []any{}}}, ""},
		"a release of elsewhere":  {named(helm, "a"), "", map[string]any{"spec": map[string]any{"targetNamespace": "other"}}, ""},
		"a folder up":             {nil, "../../../../api/v1/namespaces/kube-system/secrets/x:", shown, ""},
		"a namespace up":          {nil, ".._..:", shown, ""},
		"an escaped path":         {nil, "a%2f..%2f..:", shown, ""},
		"a query":                 {nil, "a?watch=1&x=:", shown, ""},
		"a line break":            {nil, "a HTTP/1.1\r\nHost: evil\r\n:", shown, ""},
		"a name without an end":   {nil, strings.Repeat("a", 100_000), shown, ""},
		"a name with a namespace": {nil, "kube-system_a/../../secrets/x:", shown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path := strings.Split(r.URL.Path, "/")
				if asked++; r.Method != http.MethodGet || r.URL.RawQuery != "" || len(path) != 8 || kindOf[path[6]] == "" {
					t.Errorf("Sluice asks %s %q", r.Method, r.RequestURI)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if tc.answer == nil {
					w.WriteHeader(http.StatusForbidden)
				}
				object := map[string]any{"apiVersion": strings.Join(path[2:4], "/"), "kind": kindOf[path[6]]}
				maps.Copy(object, tc.answer)
				_ = json.NewEncoder(w).Encode(object)
			}))
			t.Cleanup(server.Close)
			kinds := meta.NewDefaultRESTMapper(nil)
			for _, kind := range []schema.GroupVersionKind{kustomizations, helmReleases, applications} {
				kinds.Add(kind, meta.RESTScopeNamespace)
			}
			live, err := client.New(&rest.Config{Host: server.URL}, client.Options{Mapper: kinds})
			if err != nil {
				t.Fatal(err)
			}
			d := &appsv1.Deployment{}
			d.Namespace, d.Name, d.Labels = "shop", "web", tc.labels
			d.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": tc.tracking, v1alpha1.CommitAnnotation: claimedCommit + "\n"}
			w, err := workload.Of(d)
			if err != nil {
				t.Fatal(err)
			}
			if got := (&cluster{live: live}).origin(t.Context(), w)[v1alpha1.CommitAnnotation]; got != tc.want || asked > 2 {
				t.Errorf("want commit %q by at most 2 requests, got %q by %d", tc.want, got, asked)
			}
		})
	}
}
