package devforge_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// now returns the time by which tests without a clock of their own sign.
func (w *world) now() time.Time { return time.Now() }

// signJWT returns the token with which an app signs a request.
func signJWT(t *testing.T, app devforge.App, now time.Time) string {
	t.Helper()
	key, err := jwt.ParseRSAPrivateKeyFromPEM(app.PrivateKey)
	must(t, err)
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: strconv.FormatInt(app.ID, 10), IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(5 * time.Minute)),
	}).SignedString(key)
	must(t, err)
	return signed
}
