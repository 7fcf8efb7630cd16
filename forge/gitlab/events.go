package gitlab

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// The headers of a webhook. The number of a delivery is the same when it is sent again.
const (
	EventHeader    = "X-Gitlab-Event"
	DeliveryHeader = "Idempotency-Key"
	TokenHeader    = "X-Gitlab-Token" //nolint:gosec // the name of a header
)

// eventKinds has the events of GitLab that are parsed.
var eventKinds = map[string]forge.EventKind{
	"Push Hook": forge.EventPush, "Merge Request Hook": forge.EventPullRequest,
	"Pipeline Hook": forge.EventStatus, "Job Hook": forge.EventStatus,
}

// KindOfEvent returns the kind of an event, given its EventHeader.
func KindOfEvent(name string) forge.EventKind {
	if kind, known := eventKinds[name]; known {
		return kind
	}
	return forge.EventOther
}

// payload holds the useful fields of payloads of all kinds.
type payload struct {
	Project struct {
		ID       int64  `json:"id"`
		FullName string `json:"path_with_namespace"`
	} `json:"project"`

	Ref   string `json:"ref"`
	After string `json:"after"`

	Attributes struct {
		Number int    `json:"iid"`
		Action string `json:"action"`
		Source string `json:"source_branch"`
		Target string `json:"target_branch"`
		SHA    string `json:"sha"`
		Last   struct {
			ID string `json:"id"`
		} `json:"last_commit"`
	} `json:"object_attributes"`

	SHA string `json:"sha"`
	Job string `json:"build_name"`
}

// actions are GitHub's words for what was done to a merge request.
var actions = map[string]string{"open": "opened", "close": "closed", "merge": "closed", "reopen": "reopened"}

// approvalActions has the actions of reviewers.
var approvalActions = map[string]bool{"approved": true, "approval": true, "unapproved": true, "unapproval": true}

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
	if p.Project.FullName == "" {
		return forge.Event{}, fmt.Errorf("parse %s event: %w", kind, errors.New("it names no project"))
	}
	return p.event(kind), nil
}

func (p *payload) event(kind forge.EventKind) forge.Event {
	e := forge.Event{Kind: kind, Repository: forge.Repository{ID: p.Project.ID, FullName: p.Project.FullName}}
	switch of := p.Attributes; kind {
	case forge.EventPush:
		if branch, is := strings.CutPrefix(p.Ref, "refs/heads/"); is {
			e.Branch, e.Deleted = branch, strings.Trim(p.After, "0") == ""
		}
		e.SHA = p.After
	case forge.EventPullRequest:
		e.Number, e.Merged, e.Action = of.Number, of.Action == "merge", of.Action
		if word, known := actions[of.Action]; known {
			e.Action = word
		}
		if approvalActions[of.Action] {
			e.Kind = forge.EventReview
		}
		e.Branch, e.Head, e.SHA = of.Target, of.Source, of.Last.ID
	case forge.EventStatus: // a pipeline is all of its jobs
		if e.SHA, e.Name = p.SHA, p.Job; of.SHA != "" {
			e.SHA = of.SHA
		}
	default:
	}
	return e
}
