package github_test

import (
	"fmt"
	"net/http"
	"testing"

	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// TestPermissions: who may write is asked by login and believed of the number alone.
func TestPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for login, role := range map[string]devforge.Role{"reader": devforge.RoleRead, "writer": devforge.RoleWrite, "chief": devforge.RoleAdmin, "stranger": devforge.RoleNone} {
		if _, err := w.forge.CreateUser(login); err != nil {
			t.Fatal(err)
		}
		if err := w.forge.Grant("shop/web", login, role); err != nil {
			t.Fatal(err)
		}
	}
	for login, want := range map[string]bool{"reader": false, "writer": true, "chief": true, "stranger": false, "ada": true} {
		who, err := w.client.Accounts(t.Context(), login)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.client.Permissions(t.Context(), who...)
		if err != nil || len(got) != 1 || got[0].Write != want || !got[0].Account.Same(who[0]) {
			t.Errorf("%s: want write %t, got %+v, %v", login, want, got, err)
		}
		who[0].ID += 1000
		if got, err := w.client.Permissions(t.Context(), who...); err != nil || got[0].Write {
			t.Errorf("%s: a login that is another's now must not count: got %+v, %v", login, got, err)
		}
	}
	got, err := w.client.Permissions(t.Context(), forge.Account{ID: 7, Login: "gone"}, forge.Account{ID: 8, Login: "../x"})
	if err != nil || len(got) != 1 || got[0].Write {
		t.Errorf("an account that is gone may write nothing, and what is no login is not asked about: got %+v, %v", got, err)
	}
}

func TestPermissionsThatAreNotTold(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]forge.Kind{403: forge.Forbidden, 500: forge.Transient} {
		s := serve(t, answering(status, "{}"))
		_, err := clientOf(t, s.URL).Permissions(t.Context(), forge.Account{ID: 7, Login: "ada"})
		wantKind(t, err, want, "what is not known must not be taken for a right")
	}
	for _, level := range []string{"read", "none", "triage", ""} {
		s := serve(t, answering(http.StatusOK, fmt.Sprintf(`{"permission":%q,"user":{"id":7}}`, level)))
		if got, err := clientOf(t, s.URL).Permissions(t.Context(), forge.Account{ID: 7, Login: "ada"}); err != nil || got[0].Write {
			t.Errorf("%q is no right to write: got %+v, %v", level, got, err)
		}
	}
}

// TestCoAuthorsAreFound: a co-author is text. It is matched to an account by an address that the
// forge gives out, or by which it knows the author of another commit.
func TestCoAuthorsAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("eve", "main", "README", "eve was here\n") // by which her address is known
	stable := w.tip("main")
	message := "Change\n\nCo-authored-by: Eve <EVE@localhost>\nco-authored-by: Bob <77+bob@users.noreply.example.com>\n" +
		"Co-authored-by: Nobody <nobody@nowhere.example>\nArgocd-reference-commit-author: Ada <ada@users.noreply.github.com>\nCo-authored-by: broken"
	release := w.writeAs("ada", message)
	pull := w.open(request("co"))
	w.merge("bob", pull.Number, "merge")
	query := w.full(pull, stable, release)
	query.Teams = nil
	got := w.read(query).Release
	if len(got.Commits[0].CoAuthors) != 4 {
		t.Errorf("want the co-authors of the message, got %q", got.Commits[0].CoAuthors)
	}
	ada := got.Commits[0].Author
	if a := got.Addresses; a["eve@localhost"].Login != "eve" || a["77+bob@users.noreply.example.com"].ID != 77 ||
		a["nobody@nowhere.example"].Known() || !a["ada@users.noreply.github.com"].Same(ada) {
		t.Errorf("want eve, number 77, nobody and ada, got %+v", a)
	}
}

// TestCoAuthorsBeyondWhoIsAskedFor: many co-authors before an approver don't make the approval
// count: addresses beyond the limit of the request are treated as unknown.
func TestCoAuthorsBeyondWhoIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stable := w.tip("main")
	message := "Change\n\nCo-authored-by: Bob <77+bob@users.noreply.example.com>\n"
	for i := range 31 {
		message += fmt.Sprintf("Co-authored-by: Nobody <nobody%d@nowhere.example>\n", i)
	}
	message += "Co-authored-by: Eve <78+eve@users.noreply.example.com>"
	release := w.writeAs("ada", message)
	pull := w.open(request("co"))
	w.merge("bob", pull.Number, "merge")
	query := w.full(pull, stable, release)
	query.Teams = nil
	got := w.read(query).Release.Addresses
	if _, asked := got["nobody29@nowhere.example"]; !asked {
		t.Errorf("want 30 addresses asked for, got %d", len(got))
	}
	if _, asked := got["nobody30@nowhere.example"]; asked {
		t.Errorf("want no more than 30 addresses asked for, got %d", len(got))
	}
	if got["77+bob@users.noreply.example.com"].ID != 77 || got["78+eve@users.noreply.example.com"].ID != 78 {
		t.Errorf("an address that has its number in it asks for no request, and is always known: got %+v", got)
	}
}

// writeAs changes a file with a message.
func (w *world) writeAs(login, message string) string {
	w.t.Helper()
	known, _, _, err := w.as(login).Repositories.GetContents(w.t.Context(), "shop", "web", "deploy/web.yaml", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	done, _, err := w.as(login).Repositories.UpdateFile(w.t.Context(), "shop", "web", "deploy/web.yaml", &gogithub.RepositoryContentFileOptions{
		Message: &message, Content: []byte("image: next\n"), Branch: new("main"), SHA: known.SHA,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return done.GetSHA()
}
