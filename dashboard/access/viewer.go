package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Viewer is the person who views pages, as the API server knows them.
type Viewer struct {
	// Name is the user name as the API server knows it. It is empty if the API server does not say:
	// then nothing may be written in anybody's name.
	Name string
	// Groups are the groups that the API server knows, without those that everybody is in.
	Groups []string
	// Client reads and writes as that person.
	Client client.WithWatch
	// CSRF is the token that each form of theirs carries, in the field CSRFField.
	CSRF string
	// Leaves reports whether there is a session to log out of.
	Leaves bool

	// waits is for the person's own limit on requests; nil for who has none. A request with the context
	// that it returns does not wait again.
	waits func(context.Context) (context.Context, error)
	// person tells viewers apart who share a name and have other groups or attributes.
	person string
}

// CSRFField is the form field that carries Viewer.CSRF.
const CSRFField = "csrf"

// Door authenticates people. It serves its own paths and passes on the requests of known people,
// with their Viewer.
type Door interface {
	// Wrap puts the door before a handler, with the headers of Secure.
	Wrap(next http.Handler) http.Handler
}

type viewerKey struct{}

// ViewerOf returns who sent the request. It is nil for assets and health, which anybody may read,
// and for nothing else behind a Door.
func ViewerOf(ctx context.Context) *Viewer {
	v, _ := ctx.Value(viewerKey{}).(*Viewer)
	return v
}

// WithViewer returns a context in which ViewerOf finds the viewer.
func WithViewer(ctx context.Context, v *Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// identifies returns the key under which a viewer is remembered.
func (v *Viewer) identifies() string {
	if v.person != "" {
		return v.person
	}
	return identity{Name: v.Name, Groups: v.Groups}.key()
}

// key differs for different people: two with the same name and different groups have different
// rights.
func (who identity) key() string {
	data, err := json.Marshal(who)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// public reports whether a path needs no login. A path that would be cleaned is not public.
func public(path string) bool {
	switch path {
	case "/healthz", "/readyz":
		return true
	}
	return strings.HasPrefix(path, "/assets/") && !strings.Contains(path, "..") && !strings.Contains(path, "//")
}
