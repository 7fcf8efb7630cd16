package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/show"
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

// told is what the address after an action says. It is sealed for one viewer and one release, so
// that nobody can make a link that claims that something was done.
type told struct {
	verb    view.Verb
	outcome outcome
	// to is a revision, or a batch.
	to string
	at time.Time
}

// sealed returns the address of a release that shows the notice of an action.
func (t told) sealed(release string, viewer *access.Viewer) string {
	values := url.Values{"did": {string(t.verb)}, "outcome": {string(t.outcome)}, "at": {strconv.FormatInt(t.at.Unix(), 10)}}
	if t.to != "" {
		values.Set("to", t.to)
	}
	values.Set("seal", t.seal(release, viewer))
	return release + "?" + values.Encode()
}

// seal returns a seal keyed by the token of the viewer's forms, which nobody else knows.
func (t told) seal(release string, viewer *access.Viewer) string {
	mac := hmac.New(sha256.New, []byte("sluice dashboard notice\x00"+viewer.CSRF))
	mac.Write([]byte(strings.Join([]string{release, string(t.verb), string(t.outcome), t.to, strconv.FormatInt(t.at.Unix(), 10)}, "\x00")))
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
	t := told{view.Verb(query.Get("did")), outcome(query.Get("outcome")), query.Get("to"), time.Unix(seconds, 0)}
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
	switch t.outcome {
	case declined:
		return &page.Notice{Mark: view.Bad, Text: declinedWords[t.verb] + " The events of the release say why."}
	case again:
		return &page.Notice{Mark: view.Plain, Text: "Nothing was written: " + againWords(t)}
	case written:
	}
	if pending(t.verb, situationOf(sight), viewer.Name) {
		return &page.Notice{Mark: view.Waiting, Text: writtenWords(t) + " The controller has not acted on it yet."}
	}
	return &page.Notice{Mark: view.Good, Text: writtenWords(t)}
}

var declinedWords = map[view.Verb]string{
	view.RollBack: "The controller has not rolled the release back.", view.Jump: "The controller has not moved the release to another batch.",
}

func writtenWords(t told) string {
	switch t.verb {
	case view.Approve:
		return "You have approved " + t.to + "."
	case view.Reject:
		return "You have rejected " + t.to + "."
	case view.Force:
		return "You have forced the gates of " + t.to + "."
	case view.Pause:
		return "You have paused the release."
	case view.Resume:
		return "You have resumed the release."
	case view.Jump:
		return "You have requested a jump to batch " + t.to + "."
	case view.RollBack:
		if t.to == "" {
			return "You have requested a rollback to the previous version."
		}
		return "You have requested a rollback to revision " + t.to + "."
	case view.Retry:
		return "You have requested a retry."
	}
	return ""
}

func againWords(t told) string {
	switch t.verb {
	case view.Approve, view.Reject, view.Force:
		return "you have already answered."
	case view.Pause:
		return "the release is already paused."
	case view.Resume:
		return "the release is not paused."
	case view.Jump:
		return "the jump to batch " + t.to + " has already been requested."
	case view.RollBack:
		return "the rollback has already been requested."
	case view.Retry:
		return "a retry has already been requested."
	}
	return ""
}

// pending reports whether the controller still has to act on what a viewer has written.
func pending(verb view.Verb, now situation, who string) bool {
	switch verb {
	case view.Approve, view.Reject:
		own := slices.ContainsFunc(now.release.Status.Answers, func(a v1alpha1.Answer) bool {
			return a.By == who && slices.ContainsFunc(now.gates, func(g v1alpha1.Gate) bool { return g.UID == a.Gate && !act.GateDecided(&g) })
		})
		at := now.release.Status.PausePoint
		return own || verb == view.Approve && at != nil && at.Confirmed == at.Pod
	case view.Force:
		return slices.ContainsFunc(now.gates, func(g v1alpha1.Gate) bool {
			return g.Status.Force != nil && g.Status.Decision == v1alpha1.DecisionWaiting
		})
	default:
		one := deedOf(string(verb))
		if one == nil || one.taken == nil {
			return false
		}
		taken, err := one.taken(now.release)
		return err == nil && !taken
	}
}
