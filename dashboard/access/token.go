package access

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// login shows the login page, and takes the token that it sends.
func (c *Cluster) login(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		c.show(w, r, http.StatusOK, "", r.URL.Query().Get("next"))
		return
	}
	if !c.options.Tokens {
		tell(w, r, message{http.StatusForbidden, "No tokens here", "This dashboard takes no tokens of the Kubernetes API. Log in at its login service."})
		return
	}
	if !c.mayTry(w, r) || !readForm(w, r) {
		return
	}
	token, next := strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("next")
	who, until, err := c.review(r, token)
	if err != nil {
		c.refused(w, r, "", err, next)
		return
	}
	c.admitted(w, r, who, until, next)
}

// review asks the API server whose token it is.
func (c *Cluster) review(r *http.Request, token string) (identity, time.Time, error) {
	unknown := refuse("The API server does not accept this token. It may be incomplete, or have expired: 'kubectl create token NAME --namespace NAMESPACE' " +
		"makes one for a service account.")
	if token == "" {
		return identity{}, time.Time{}, unknown
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: c.options.Audiences}}
	if err := c.people.own.Create(r.Context(), review); err != nil {
		return identity{}, time.Time{}, fmt.Errorf("review a token: %w", withoutSecret(err, token))
	}
	if !review.Status.Authenticated || len(c.options.Audiences) > 0 && len(review.Status.Audiences) == 0 {
		return identity{}, time.Time{}, unknown
	}
	return userOf(review.Status.User), expiryOf(token), nil
}

// expiryOf returns when a token expires that the API server has accepted; never as far as can be
// seen, if it does not say so itself.
func expiryOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires *float64 `json:"exp"`
	}
	if json.Unmarshal(data, &claims) != nil || claims.Expires == nil {
		return time.Time{}
	}
	return time.Unix(int64(*claims.Expires), 0)
}

// withoutSecret returns an error whose text has no trace of a secret.
func withoutSecret(err error, secret string) error {
	if strings.Contains(err.Error(), secret) {
		return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), secret, "..."))
	}
	return err
}
