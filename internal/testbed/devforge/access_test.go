package devforge_test

import (
	"strconv"
	"strings"
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

func TestWhoMaySeeWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	narrow, err := w.CreateToken("ada", devforge.Permissions{"statuses": "write"})
	must(t, err)
	reader := func(token string) error {
		_, _, err := w.client(token).Repositories.Get(w.ctx(), owner, web)
		return err
	}
	wantStatus(t, "a wrong token", reader("ghp_wrong"), 401)
	wantStatus(t, "a stranger", reader(w.tokens["eve"]), 404)
	_, _, err = w.client(narrow).PullRequests.List(w.ctx(), owner, web, nil)
	wantStatus(t, "a token without the permission", err, 403)
	must(t, w.report(w.client(narrow), w.tip("main"), "ci", "success", ""))
	_, _, err = w.ada.Repositories.ListHooks(w.ctx(), owner, web, nil)
	wantStatus(t, "hooks are for admins", err, 403)

	must(t, w.MakePublic(repository))
	must(t, reader(w.tokens["eve"]))
	cloneOf(t, w.CloneURL(repository))
	wantStatus(t, "reading is not writing", w.report(w.eve, w.tip("main"), "ci", "success", ""), 403)
	w.RevokeToken(narrow)
	wantStatus(t, "a token that is revoked", reader(narrow), 401)
	user, _, err := w.ada.Users.Get(w.ctx(), "")
	must(t, err)
	if user.GetLogin() != "ada" {
		t.Errorf("one's own account: got %v", user)
	}
	level, _, err := w.bob.Repositories.GetPermissionLevel(w.ctx(), owner, web, "ada")
	must(t, err)
	if level.GetPermission() != "write" {
		t.Errorf("a collaborator's permission: got %v", level)
	}
}

func TestPushesNeedWriteAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	must(t, w.Grant(repository, "eve", devforge.RoleRead))
	clone := w.cloneAs(w.tokens["eve"])
	commit(t, clone, "mine\n")
	if out, err := tryGit(clone, "push", "origin", "main"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("who may only read must not push: %v: %s", err, out)
	}
	allowed := w.cloneAs(w.tokens["ada"])
	if out, err := tryGit(allowed, "push", "origin", "HEAD:refs/pull/1/head"); err == nil {
		t.Errorf("the forge's own refs must not be pushed: %s", out)
	}
}
