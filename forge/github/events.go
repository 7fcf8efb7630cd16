package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
)

// The headers of a webhook.
const (
	EventHeader     = "X-Github-Event"
	DeliveryHeader  = "X-Github-Delivery"
	SignatureHeader = "X-Hub-Signature-256"
)

// IsSignature reports whether the SignatureHeader of a webhook can be a signature at all.
func IsSignature(header string) bool { return signature.MatchString(header) }

var signature = regexp.MustCompile(`^sha256=[0-9a-fA-F]{64}$`)

// ValidSignature reports whether a webhook was signed with one of the secrets, given its
// SignatureHeader. The older header, with SHA-1, is not looked at. No secret, or an empty one,
// signs nothing.
func ValidSignature(header string, payload []byte, secrets ...[]byte) bool {
	if !strings.HasPrefix(header, "sha256=") {
		return false
	}
	valid := false
	for _, secret := range secrets {
		// All are tried, so that the time tells nothing about which one fits.
		if len(secret) > 0 && github.ValidateSignature(header, payload, secret) == nil {
			valid = true
		}
	}
	return valid
}

// eventKinds are those that are parsed.
var eventKinds = []forge.EventKind{
	forge.EventPing, forge.EventPush, forge.EventPullRequest, forge.EventReview,
	forge.EventStatus, forge.EventCheckRun, forge.EventCheckSuite,
}

// EventKinds returns all kinds of events that are of use, and the one of all others.
func EventKinds() []forge.EventKind { return append(slices.Clone(eventKinds), forge.EventOther) }

// giteaReviews are the names that Gitea gives to events of reviews. All else it sends as GitHub
// does, with the same headers.
var giteaReviews = []string{"pull_request_approved", "pull_request_rejected"}

// KindOfEvent returns the kind of an event, given its EventHeader.
func KindOfEvent(name string) forge.EventKind {
	if slices.Contains(giteaReviews, name) {
		return forge.EventReview
	}
	if kind := forge.EventKind(name); slices.Contains(eventKinds, kind) {
		return kind
	}
	return forge.EventOther
}

// payload holds the useful fields of payloads of all kinds. go-github has types for whole payloads,
// but one unexpected value anywhere in a payload loses the hint: version 60 can't read a repository
// that has a property of several values, nor all payloads that GitHub has published.
type payload struct {
	Action     string `json:"action"`
	Repository struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repository"`

	Ref     string `json:"ref"`
	After   string `json:"after"`
	Deleted bool   `json:"deleted"`

	PullRequest struct {
		Number int  `json:"number"`
		Merged bool `json:"merged"`
		Base   struct {
			Ref string `json:"ref"`
		} `json:"base"`
		Head struct {
			Ref string `json:"ref"`
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`

	SHA     string `json:"sha"`
	Context string `json:"context"`

	CheckRun   check `json:"check_run"`
	CheckSuite check `json:"check_suite"`
}

type check struct {
	Name    string `json:"name"`
	HeadSHA string `json:"head_sha"`
	App     struct {
		Slug string `json:"slug"`
	} `json:"app"`
}

// ParseEvent reads what a webhook says, given its EventHeader. Of events that are of no use nothing
// is read: they are of kind forge.EventOther.
func ParseEvent(event string, body []byte) (forge.Event, error) {
	kind := KindOfEvent(event)
	if kind == forge.EventOther {
		return forge.Event{Kind: kind}, nil
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return forge.Event{}, fmt.Errorf("parse %s event: %w", kind, err)
	}
	e := p.event(kind)
	if kind != forge.EventPing && e.Repository.FullName == "" {
		return forge.Event{}, fmt.Errorf("parse %s event: %w", kind, errors.New("it names no repository"))
	}
	return e, nil
}

func (p *payload) event(kind forge.EventKind) forge.Event {
	e := forge.Event{
		Kind: kind, Action: p.Action,
		Repository: forge.Repository{ID: p.Repository.ID, FullName: p.Repository.FullName},
	}
	switch kind {
	case forge.EventPush:
		if branch, ok := strings.CutPrefix(p.Ref, "refs/heads/"); ok {
			e.Branch, e.Deleted = branch, p.Deleted
		}
		e.SHA = p.After
	case forge.EventPullRequest, forge.EventReview:
		e.Number, e.Merged = p.PullRequest.Number, p.PullRequest.Merged
		e.Branch, e.Head, e.SHA = p.PullRequest.Base.Ref, p.PullRequest.Head.Ref, p.PullRequest.Head.SHA
	case forge.EventStatus:
		e.SHA, e.Name = p.SHA, p.Context
	case forge.EventCheckRun:
		e.SHA, e.Name, e.App = p.CheckRun.HeadSHA, p.CheckRun.Name, p.CheckRun.App.Slug
	case forge.EventCheckSuite:
		e.SHA, e.App = p.CheckSuite.HeadSHA, p.CheckSuite.App.Slug
	case forge.EventOther, forge.EventPing:
	}
	return e
}
