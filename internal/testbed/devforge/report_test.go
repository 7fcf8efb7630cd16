package devforge_test

import (
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// appClient signs in as an app's installation.
func (w *world) appClient(app devforge.App) (*github.Client, *github.InstallationToken) {
	w.t.Helper()
	signed := w.client(signJWT(w.t, app, w.now()))
	found, _, err := signed.Apps.FindRepositoryInstallation(w.ctx(), owner, web)
	must(w.t, err)
	token, _, err := signed.Apps.CreateInstallationToken(w.ctx(), found.GetID(), nil)
	must(w.t, err)
	return w.client(token.GetToken()), token
}

func (w *world) app(slug string) devforge.App {
	w.t.Helper()
	app, err := w.CreateApp(slug, nil)
	must(w.t, err)
	_, err = w.InstallApp(app.ID, owner)
	must(w.t, err)
	return app
}
