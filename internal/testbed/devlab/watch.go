package devlab

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Request is one line of the request log.
type Request struct {
	Method, Path, Query string
	// User is the name of who sent it; empty for nobody.
	User string
	// API tells requests of the API from those of Git.
	API bool
}

// Fault has requests go wrong.
type Fault struct {
	// Path matches the path of the requests, and User sent them; nil and empty for all.
	Path *regexp.Regexp
	User string
	// Status is the answer instead, with Header; 0 for half of the right answer.
	Status int
	Header http.Header
}

// watch logs all requests, and has some go wrong.
type watch struct {
	mu     sync.Mutex
	log    []Request
	faults []*Fault
	hits   map[*Fault]int
}

// Requests returns all requests so far.
func (l *Lab) Requests() []Request {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	return slices.Clone(l.watch.log)
}

// Inject switches a fault on. The function switches it off again, and tells how many requests went
// wrong by it.
func (l *Lab) Inject(fault Fault) (off func() (hits int)) {
	w := &l.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &fault)
	return func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.faults = slices.DeleteFunc(w.faults, func(f *Fault) bool { return f == &fault })
		return w.hits[&fault]
	}
}

// met returns the fault that a request of the API meets; nil for none.
func (w *watch) met(r *http.Request, user string) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	api := strings.HasPrefix(r.URL.Path, apiPrefix)
	w.log = append(w.log, Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, User: user, API: api})
	i := slices.IndexFunc(w.faults, func(f *Fault) bool {
		return api && (f.Path == nil || f.Path.MatchString(r.URL.EscapedPath())) && (f.User == "" || f.User == user)
	})
	if i < 0 {
		return nil
	}
	if w.hits == nil {
		w.hits = map[*Fault]int{}
	}
	w.hits[w.faults[i]]++
	return w.faults[i]
}

func (w *watch) around(next http.Handler, user func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		fault := w.met(r, user(r))
		switch {
		case fault == nil:
			next.ServeHTTP(to, r)
		case fault.Status != 0:
			maps.Copy(to.Header(), fault.Header)
			to.Header().Set("Content-Type", "text/html")
			to.WriteHeader(fault.Status)
			io.WriteString(to, "<html><body>Whoops</body></html>")
		default:
			held := httptest.NewRecorder()
			next.ServeHTTP(held, r)
			to.Header().Set("Content-Type", "application/json")
			to.WriteHeader(held.Code)
			io.WriteString(to, held.Body.String()[:held.Body.Len()/2])
		}
	})
}
