package access

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// provider is a login service over HTTP. Who is there is logged in at once, with the claims that a
// test gives them.
type provider struct {
	*httptest.Server

	t      *testing.T
	signer jose.Signer
	key    *rsa.PrivateKey

	mu sync.Mutex
	// claims replace the usual ones at the next login; a nil value removes one.
	claims map[string]any
	// codes are those given out, with the request that each answers.
	codes map[string]url.Values
	// secret is the client's.
	secret string
	// down has the service answer nothing but errors.
	down bool
}

const clientID, clientSecret = "sluice", "the client's secret & more"

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, codes: map[string]url.Values{}, secret: clientSecret, signer: signerOf(t, key)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.configuration)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func signerOf(t *testing.T, key *rsa.PrivateKey) jose.Signer {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func (p *provider) configuration(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

// authorize logs in who is sent here, and sends them back.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("state")) < 20 ||
		len(q.Get("nonce")) < 20 {
		http.Error(w, "want code, state, nonce and PKCE", http.StatusBadRequest)
		return
	}
	code := randomText(8)
	p.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

// token exchanges a code once, for who has its verifier and the client's secret.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	asked, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != clientID || secret != p.secret || !known || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
		r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "` + r.PostFormValue("code_verifier") + `"}`))
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": clientID, "sub": "1", "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(30 * time.Minute).Unix(),
		"email": "ada@example.com", "email_verified": true, "groups": []string{"dev"},
	}
	for claim, value := range p.claims {
		if claims[claim] = value; value == nil {
			delete(claims, claim)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "unused", "token_type": "Bearer", "id_token": p.sign(claims)})
}

func (p *provider) sign(claims map[string]any) string {
	data, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	signed, err := p.signer.Sign(data)
	if err != nil {
		p.t.Error(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		p.t.Error(err)
	}
	return text
}

// says gives the next logins claims.
func (p *provider) says(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// takes changes the client's secret.
func (p *provider) takes(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret = secret
}

func (p *provider) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}
