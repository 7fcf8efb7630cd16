package devforge_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// now is the time by which tests without a clock of their own sign.
func (w *world) now() time.Time { return time.Now() }

// signJWT is what an app signs a request with.
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

func TestTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	must(t, w.CreateTeam(owner, "releasers", "ada", "bob"))
	members, _, err := w.ada.Teams.ListTeamMembersBySlug(w.ctx(), owner, "releasers", nil)
	must(t, err)
	if len(members) != 2 || members[0].GetLogin() != "ada" || members[0].GetID() == 0 {
		t.Errorf("a team lists its members: got %v", members)
	}
	membership := func(login string) error {
		_, _, err := w.ada.Teams.GetTeamMembershipBySlug(w.ctx(), owner, "releasers", login)
		return err
	}
	must(t, membership("bob"))
	wantStatus(t, "who is not in it", membership("eve"), 404)
	must(t, w.CreateTeam(owner, "releasers", "ada"))
	wantStatus(t, "who was taken out", membership("bob"), 404)
}

func TestApps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	w := newWorld(t, devforge.Options{Clock: func() time.Time { return now }})
	must(t, w.CreateRepository(w.ctx(), "shop/other", "main", nil))
	app, err := w.CreateApp("sluice", devforge.Permissions{"contents": "write", "statuses": "write"})
	must(t, err)
	installation, err := w.InstallApp(app.ID, owner)
	must(t, err)
	signed := w.client(signJWT(t, app, now))
	self, _, err := signed.Apps.Get(w.ctx(), "")
	must(t, err)
	found, _, err := signed.Apps.FindRepositoryInstallation(w.ctx(), owner, web)
	must(t, err)
	if self.GetSlug() != "sluice" || found.GetID() != installation {
		t.Errorf("an app finds itself and where it is installed: got %v, %v", self, found)
	}
	token, _, err := signed.Apps.CreateInstallationToken(w.ctx(), installation, &github.InstallationTokenOptions{
		Repositories: []string{web}, Permissions: &github.InstallationPermissions{Contents: new("write")},
	})
	must(t, err)
	as := w.client(token.GetToken())
	_, _, err = as.Repositories.Get(w.ctx(), owner, web)
	must(t, err)
	_, _, err = as.Repositories.Get(w.ctx(), owner, "other")
	wantStatus(t, "a repository that the token is not for", err, 404)
	wantStatus(t, "a permission that the token is not for", w.report(as, w.tip("main"), "ci", "success", ""), 403)
	w.push(w.cloneAs(token.GetToken()), "by-app", "app.txt", "app\n")

	_, _, err = signed.Apps.CreateInstallationToken(w.ctx(), installation, &github.InstallationTokenOptions{
		Permissions: &github.InstallationPermissions{Checks: new("write")},
	})
	wantStatus(t, "more than was granted", err, 422)
	other, err := w.CreateApp("other", nil)
	must(t, err)
	other.ID = app.ID
	_, _, err = w.client(signJWT(t, other, now)).Apps.Get(w.ctx(), "")
	wantStatus(t, "another app's key", err, 401)
	_, _, err = w.client(signJWT(t, app, now.Add(-time.Hour))).Apps.Get(w.ctx(), "")
	wantStatus(t, "a signature that is too old", err, 401)

	app.PrivateKey, err = w.RotateAppKey(app.ID)
	must(t, err)
	_, _, err = signed.Apps.Get(w.ctx(), "")
	wantStatus(t, "the old key", err, 401)
	_, _, err = w.client(signJWT(t, app, now)).Apps.Get(w.ctx(), "")
	must(t, err)

	now = now.Add(time.Hour)
	_, _, err = as.Repositories.Get(w.ctx(), owner, web)
	wantStatus(t, "a token that is an hour old", err, 401)
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
