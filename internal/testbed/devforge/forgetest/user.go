package forgetest

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/person"
)

// User is a person whose actions must succeed: an error ends the test.
type User struct {
	tb testing.TB
	person.Person
}

// As returns a user who works on one repository of a forge, with a token.
func As(tb testing.TB, forge *devforge.Forge, repository, login, token string) User {
	return User{tb, person.New(forge, repository, login, token)}
}

// Invite makes accounts that may write to a repository, and returns their tokens by login.
func Invite(tb testing.TB, forge *devforge.Forge, repository string, logins ...string) map[string]string {
	tb.Helper()
	tokens := map[string]string{}
	for _, login := range logins {
		_, err := forge.CreateUser(login)
		if err == nil {
			err = forge.Grant(repository, login, devforge.RoleWrite)
		}
		if err == nil {
			tokens[login], err = forge.CreateToken(login, nil)
		}
		if err != nil {
			tb.Fatalf("invite %s: %v", login, err)
		}
	}
	return tokens
}

// Do sends a request about the repository, which must succeed.
func (u User) Do(method, path string, body, answer any) {
	u.tb.Helper()
	if status := u.Try(method, path, body, answer); status >= http.StatusMultipleChoices {
		u.tb.Fatalf("%s %s as %s: status %d", method, path, u.Login, status)
	}
}

// Try sends a request about the repository and returns the status of an answer that is no success,
// or 200.
func (u User) Try(method, path string, body, answer any) (status int) {
	u.tb.Helper()
	err := u.Call(u.tb.Context(), method, "/"+path, body, answer)
	if refused, ok := errors.AsType[*person.RefusedError](err); ok {
		return refused.Status
	}
	if err != nil {
		u.tb.Fatalf("%s %s as %s: %v", method, path, u.Login, err)
	}
	return http.StatusOK
}

// Put commits a file to a branch and returns the commit.
func (u User) Put(branch, path string, content []byte) string {
	u.tb.Helper()
	commit, err := u.Write(u.tb.Context(), branch, path, content)
	if err != nil {
		u.tb.Fatalf("as %s: %v", u.Login, err)
	}
	return commit
}

// Merge merges a pull request in one of the ways merge, squash and rebase, and returns the commit.
func (u User) Merge(number int64, method string) string {
	u.tb.Helper()
	var merged struct{ SHA string }
	u.Do(http.MethodPut, fmt.Sprintf("pulls/%d/merge", number), map[string]string{"merge_method": method}, &merged)
	return merged.SHA
}
