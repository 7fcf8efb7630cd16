package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/clock"
)

// TestAddressesOfPlainHTTP: a login service none of whose addresses is of plain HTTP, where
// somebody between could answer for it; least of all that of its keys.
func TestAddressesOfPlainHTTP(t *testing.T) {
	t.Parallel()
	for wrong, refused := range map[string]bool{"": false, "authorization_endpoint": true, "token_endpoint": true, "jwks_uri": true} {
		var says map[string]string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(says) }))
		t.Cleanup(server.Close)
		says = map[string]string{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys",
		}
		if wrong != "" {
			says[wrong] = "http://login.example.com/" + wrong
		}
		s, err := newService(OIDC{Issuer: server.URL, ClientID: clientID}, Options{PlainHTTP: true, Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.known(); (err != nil) != refused {
			t.Errorf("%q of plain HTTP: %v", wrong, err)
		}
	}
}
