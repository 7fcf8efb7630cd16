// Package webhooks tells the webhooks of forges apart, and checks who sent them.
//
//	headers ─► Delivery: whose form, which event, which proof ─► Proven, by body and secrets ─► Event
//
// What must hold:
//
//   - the headers choose the proof and the secret has to fit it: one for signatures is never taken
//     as a token, nor the other way round;
//   - a check takes as long for a secret that fits as for one that does not;
//   - a delivery has the same marks whatever a sender adds to it that nothing proves.
package webhooks

import (
	"net/http"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/forge/gitlab"
)

// form holds the headers and proofs of one forge's webhooks.
type form struct {
	// eventHeader and idHeader name the event, and the delivery.
	eventHeader, idHeader string
	kindOf                func(event string) forge.EventKind
	parse                 func(event string, body []byte) (forge.Event, error)
	// proofs read the possible proofs, the best first.
	proofs []func(http.Header) (proof, bool)
}

// Gitea sends what GitHub does.
var (
	githubForm = &form{
		eventHeader: github.EventHeader, idHeader: github.DeliveryHeader, kindOf: github.KindOfEvent, parse: github.ParseEvent,
		proofs: []func(http.Header) (proof, bool){signatureOf},
	}
	gitlabForm = &form{
		eventHeader: gitlab.EventHeader, idHeader: gitlab.DeliveryHeader, kindOf: gitlab.KindOfEvent, parse: gitlab.ParseEvent,
		proofs: []func(http.Header) (proof, bool){standardOf, tokenOf},
	}
	forms = map[forge.Type]*form{forge.TypeGitHub: githubForm, forge.TypeGitea: githubForm, forge.TypeGitLab: gitlabForm}
)

func formOf(header http.Header) *form {
	if header.Get(gitlab.EventHeader) != "" {
		return gitlabForm
	}
	return githubForm
}

// Kinds returns all kinds of events, with the one of all that are of no use.
func Kinds() []forge.EventKind { return github.EventKinds() }

// KindOf returns the kind of the event that headers name.
func KindOf(header http.Header) forge.EventKind {
	f := formOf(header)
	return f.kindOf(header.Get(f.eventHeader))
}

// Delivery is a webhook, by its headers.
type Delivery struct {
	// Event is the forge's name of the event, and ID its number of the delivery: only with some proofs
	// it is the forge that chose it.
	Event, ID string

	form  *form
	proof proof
}

// Of reads the headers of a webhook. It reports false if nothing in them can be a proof.
func Of(header http.Header) (Delivery, bool) {
	f := formOf(header)
	d := Delivery{Event: header.Get(f.eventHeader), ID: header.Get(f.idHeader), form: f}
	for _, read := range f.proofs {
		if found, is := read(header); is {
			d.proof = found
			return d, true
		}
	}
	return d, false
}

// From reports whether a type of forge sends such webhooks. One that is not given sends any.
func (d Delivery) From(t forge.Type) bool { return t == "" || forms[t] == d.form }

// Proven reports whether the sender knows one of the secrets. No secret, or an empty one, proves
// nothing.
func (d Delivery) Proven(body []byte, now time.Time, secrets ...[]byte) bool {
	proven := false
	for _, secret := range secrets {
		// All are tried, so that the time tells nothing about which one fits.
		if d.proof.valid(body, now, secret) && len(secret) > 0 {
			proven = true
		}
	}
	return proven
}

// Marks returns the names by which a delivery is recognized when it comes again, also as a copy
// with another number.
func (d Delivery) Marks(body []byte) []string {
	marks := []string{d.proof.mark(body)}
	if d.ID != "" {
		marks = append(marks, "id "+d.ID)
	}
	return marks
}

// Kind returns the kind of the event.
func (d Delivery) Kind() forge.EventKind { return d.form.kindOf(d.Event) }

// Parse reads what a webhook says. Of events that are of no use nothing is read.
func (d Delivery) Parse(body []byte) (forge.Event, error) { return d.form.parse(d.Event, body) }
