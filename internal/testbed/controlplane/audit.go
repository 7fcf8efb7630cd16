package controlplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// A Request is the audit log's entry of one request to the API server.
type Request struct {
	// Verb is the request's verb as authorization sees it: get, list, watch, patch, ...
	Verb string
	// User is whom the request was made as, the impersonated user if there is one.
	User string
	// UserAgent is the client's User-Agent header.
	UserAgent string
	// Resource is the resource with its subresource ("deployments", "pods/status"), or the path
	// of a request that is not about one ("/healthz").
	Resource string
	// Namespace and Name are the object's, as far as the request names them.
	Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
	// Received is when the API server received the request, and Answered when it had answered it, or
	// begun to answer a watch.
	Received, Answered time.Time
}

// auditEvent is the part of an audit.k8s.io/v1 Event that a Request takes.
type auditEvent struct {
	Verb             string        `json:"verb"`
	RequestURI       string        `json:"requestURI"`
	User             auditUser     `json:"user"`
	ImpersonatedUser *auditUser    `json:"impersonatedUser"`
	UserAgent        string        `json:"userAgent"`
	ObjectRef        *auditObject  `json:"objectRef"`
	ResponseStatus   auditResponse `json:"responseStatus"`
	Received         time.Time     `json:"requestReceivedTimestamp"`
	Answered         time.Time     `json:"stageTimestamp"`
}

type auditUser struct {
	Username string `json:"username"`
}

type auditObject struct {
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

type auditResponse struct {
	Code int `json:"code"`
}

func (e auditEvent) request() Request {
	r := Request{
		Verb:      e.Verb,
		User:      e.User.Username,
		UserAgent: e.UserAgent,
		Resource:  e.RequestURI,
		Code:      e.ResponseStatus.Code,
		Received:  e.Received,
		Answered:  e.Answered,
	}
	if e.ImpersonatedUser != nil {
		r.User = e.ImpersonatedUser.Username
	}
	if o := e.ObjectRef; o != nil {
		r.Resource, r.Namespace, r.Name = path.Join(o.Resource, o.Subresource), o.Namespace, o.Name
	}
	return r
}

// CountRequests counts, by verb, the requests in the audit log that match. A request is logged when
// it is answered, a watch when it starts; either is there once, at the latest a moment after the
// client saw the answer.
func (a Access) CountRequests(match func(Request) bool) (map[string]int, error) {
	if a.AuditLog == "" {
		return nil, errors.New("count requests: the control plane keeps no audit log")
	}
	// The log is rotated to another name in the same folder. If that happened while we read, a
	// file may have been missed or read twice.
	for {
		before, err := auditFiles(a.AuditLog)
		if err != nil {
			return nil, err
		}
		counts := map[string]int{}
		for _, name := range before {
			if err := countIn(name, match, counts); err != nil {
				return nil, fmt.Errorf("count requests: %w", err)
			}
		}
		after, err := auditFiles(a.AuditLog)
		if err != nil {
			return nil, err
		}
		if slices.Equal(before, after) {
			return counts, nil
		}
	}
}

// auditFiles returns the log and all that it was rotated to.
func auditFiles(log string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(log), "*"+filepath.Ext(log)))
	if err != nil {
		return nil, fmt.Errorf("find audit logs: %w", err)
	}
	return files, nil
}

// countIn adds the matching requests of one file to counts. A last line without an end is still
// being written and left out.
func countIn(file string, match func(Request) bool, counts map[string]int) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("decode audit log: %w", err)
		}
		if r := event.request(); match(r) {
			counts[r.Verb]++
		}
	}
}
