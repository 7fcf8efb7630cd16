package access

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestFetchedByAnotherOrigin: a page of a sibling domain makes the browser send the session.
// Requests other than navigation are not answered, so that they take none of the person's streams,
// and run nothing as them.
func TestFetchedByAnotherOrigin(t *testing.T) {
	t.Parallel()
	door, err := guard("", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		site, mode, dest string
		answered         bool
	}{
		"no browser":              {"", "", "", true},
		"an old browser":          {"cross-site", "navigate", "", true},
		"the address bar":         {"none", "navigate", "document", true},
		"a link elsewhere":        {"cross-site", "navigate", "document", true},
		"the login service":       {"same-site", "navigate", "document", true},
		"the dashboard's script":  {"same-origin", "cors", "empty", true},
		"the dashboard's stream":  {"same-origin", "cors", "empty", true},
		"the dashboard's style":   {"same-origin", "no-cors", "style", true},
		"a sibling's stream":      {"same-site", "cors", "empty", false},
		"a sibling's fetch":       {"same-site", "no-cors", "empty", false},
		"a sibling's frame":       {"same-site", "navigate", "iframe", false},
		"a sibling's object":      {"same-site", "navigate", "object", false},
		"a picture elsewhere":     {"cross-site", "no-cors", "image", false},
		"a script elsewhere":      {"cross-site", "no-cors", "script", false},
		"a WebSocket elsewhere":   {"cross-site", "websocket", "websocket", false},
		"a sibling without modes": {"same-site", "", "", false},
	} {
		for _, path := range []string{"/", "/live?page=releases", "/releases/shop/web/rollback", "/login/start", "/assets/live.js"} {
			request := httptest.NewRequest(http.MethodGet, path, nil)
			for header, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest} {
				if value != "" {
					request.Header.Set(header, value)
				}
			}
			recorded := httptest.NewRecorder()
			door.ServeHTTP(recorded, request)
			if answered := recorded.Code == http.StatusTeapot; answered != c.answered || !answered && recorded.Code != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, recorded.Code)
			}
		}
	}
}
