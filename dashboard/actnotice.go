package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// outcome is the result of an action.
type outcome string

// The outcomes.
const (
	// written: the request is on record.
	written outcome = "written"
	// again: it had been done already.
	again outcome = "already"
	// declined: the controller did not do it.
	declined outcome = "declined"
)

// noticeKept is how long an address shows the notice of an action: later it shows only the release.
const noticeKept = 2 * time.Minute

// told is the notice in the address after an action. It is sealed for one viewer and one release,
// so that no link can claim that something was done.
type told struct {
	verb    string
	outcome outcome
	// to is the subject.
	to string
	at time.Time
}

// sealed returns the address of a release that shows the notice of an action.
func (t told) sealed(release string, viewer *access.Viewer) string {
	values := url.Values{"did": {t.verb}, "outcome": {string(t.outcome)}, "at": {strconv.FormatInt(t.at.Unix(), 10)}}
	if t.to != "" {
		values.Set("to", t.to)
	}
	values.Set("seal", t.seal(release, viewer))
	return release + "?" + values.Encode()
}

// seal returns a seal keyed by the token of the viewer's forms, which nobody else knows.
func (t told) seal(release string, viewer *access.Viewer) string {
	mac := hmac.New(sha256.New, []byte("sluice dashboard notice\x00"+viewer.CSRF))
	mac.Write([]byte(strings.Join([]string{release, t.verb, string(t.outcome), t.to, strconv.FormatInt(t.at.Unix(), 10)}, "\x00")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// readTold reads the notice in an address. It reports false if the notice is not for the viewer, or
// too old.
func readTold(r *http.Request, viewer *access.Viewer, now time.Time) (told, bool) {
	query := r.URL.Query()
	seconds, err := strconv.ParseInt(query.Get("at"), 10, 64)
	if err != nil || viewer.CSRF == "" {
		return told{}, false
	}
	t := told{query.Get("did"), outcome(query.Get("outcome")), query.Get("to"), time.Unix(seconds, 0)}
	if age := now.Sub(t.at); age < -noticeKept || age > noticeKept {
		return told{}, false
	}
	return t, hmac.Equal([]byte(query.Get("seal")), []byte(t.seal(r.URL.Path, viewer)))
}

// noticeOf returns the notice of the action that led to this page, and whether the controller has
// acted on it.
func (d *Dashboard) noticeOf(r *http.Request, viewer *access.Viewer, sight *show.Sight) *page.Notice {
	t, genuine := readTold(r, viewer, d.options.Clock.Now())
	if !genuine {
		return nil
	}
	what := verb.Named(t.verb)
	words := verb.About(what.Written, t.to)
	switch {
	case t.outcome == declined:
		return &page.Notice{Mark: view.Bad, Text: what.Declined + " The events of the release say why."}
	case t.outcome == again:
		return &page.Notice{Mark: view.Plain, Text: "Nothing was written: " + verb.About(what.Again, t.to)}
	case what.Pending(situationOf(sight), viewer.Name):
		return &page.Notice{Mark: view.Waiting, Text: words + " The controller has not acted on it yet."}
	default:
		return &page.Notice{Mark: view.Good, Text: words}
	}
}
