package access

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/kube"
)

// hearer is an API server that says whom it takes a request for, as the real one does: names of
// attributes are in lower case. Drops names a header that does not arrive.
type hearer struct{ drops string }

func (h hearer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	group := map[string]any{"name": "authentication.k8s.io", "versions": []any{map[string]any{"groupVersion": "authentication.k8s.io/v1", "version": "v1"}}}
	answers := map[string]any{
		"/api":  map[string]any{"kind": "APIVersions"},
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group}},
		"/apis/authentication.k8s.io/v1": map[string]any{"kind": "APIResourceList", "groupVersion": "authentication.k8s.io/v1", "resources": []any{
			map[string]any{"name": "selfsubjectreviews", "kind": "SelfSubjectReview", "verbs": []string{"create"}},
		}},
	}
	answer, known := answers[r.URL.Path]
	if !known {
		review := &authenticationv1.SelfSubjectReview{}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "SelfSubjectReview"
		r.Header.Del(h.drops)
		is := &review.Status.UserInfo
		is.Username, is.UID, is.Groups = r.Header.Get("Impersonate-User"), r.Header.Get("Impersonate-Uid"), append(r.Header.Values("Impersonate-Group"), everybodyGroup)
		is.Extra = map[string]authenticationv1.ExtraValue{}
		for name, values := range r.Header {
			if key, of := strings.CutPrefix(strings.ToLower(name), "impersonate-extra-"); of {
				is.Extra[key] = values
			}
		}
		answer = review
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestSomebodyWithoutTheirAttributes: some authorizers narrow rights by a person's attributes, or
// by their UID. A person who would arrive at the API server without them, or with others, is
// refused.
func TestSomebodyWithoutTheirAttributes(t *testing.T) {
	t.Parallel()
	ada := identity{Name: "ada", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"scopes": {"user:info", "user:check"}}}
	upper, err := admit(identity{Name: "ada", Extra: map[string][]string{"canonicalArn": {"arn:aws:iam::1:user/ada"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who   identity
		drops string
		in    bool
	}{
		"as they are":          {ada, "", true},
		"without name":         {ada, "Impersonate-User", false},
		"without UID":          {ada, "Impersonate-Uid", false},
		"without group":        {ada, "Impersonate-Group", false},
		"without attribute":    {ada, "Impersonate-Extra-Scopes", false},
		"a name in upper case": {upper, "", true},
		"account":              {identity{Name: "system:serviceaccount:shop:deployer"}, "", true},
	} {
		server := httptest.NewServer(hearer{c.drops})
		t.Cleanup(server.Close)
		known, err := newPeople(&rest.Config{Host: server.URL}, kube.NewScheme())
		if err != nil {
			t.Fatal(err)
		}
		if err := known.proven(t.Context(), c.who); (err == nil) != c.in || err != nil && !errors.As(err, new(*refusal)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
