package devforge

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one line of the request log.
type Request struct {
	// Time is when it came in, by the clock of the machine.
	Time         time.Time
	Method, Path string
	// Query is the part after "?", not decoded.
	Query string
	// User is the login of who sent it; empty for nobody.
	User string
	// Status is the status of the response; 0 if the connection was dropped or the client gave up.
	Status int
	// Git tells requests of Git's own protocol, and API those of the REST API, from those of browsers.
	Git, API bool
}

// requestLog remembers all requests that were answered.
type requestLog struct {
	mu      sync.Mutex
	entries []Request
}

func newRequestLog() *requestLog { return &requestLog{} }

// Requests returns all requests answered so far, in the order of the answers.
func (f *Forge) Requests() []Request {
	f.requests.mu.Lock()
	defer f.requests.mu.Unlock()
	return slices.Clone(f.requests.entries)
}

// ForgetRequests empties the request log.
func (f *Forge) ForgetRequests() {
	f.requests.mu.Lock()
	defer f.requests.mu.Unlock()
	f.requests.entries = nil
}

// recorded writes the request log.
func (f *Forge) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry := Request{
			Time: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, User: f.senderOf(r),
			API: strings.HasPrefix(r.URL.Path, apiPrefix+"/"),
		}
		entry.Git = !entry.API && (strings.Contains(r.URL.Path, "/git-") || strings.HasSuffix(r.URL.Path, "/info/refs"))
		// The entry is there before the client can have the answer.
		log := sync.OnceFunc(func() { f.requests.add(entry) })
		defer log()
		next.ServeHTTP(&statusWatch{ResponseWriter: w, seen: func(status int) {
			if entry.Status == 0 {
				entry.Status = status
			}
			log()
		}}, r)
	})
}

func (f *Forge) senderOf(r *http.Request) string {
	by, known := f.authenticate(r)
	if !known {
		return ""
	}
	return by.name()
}

func (l *requestLog) add(entry Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry)
}

// statusWatch tells of the status before it is sent.
type statusWatch struct {
	http.ResponseWriter

	seen func(status int)
}

func (s *statusWatch) WriteHeader(status int) {
	s.seen(status)
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWatch) Write(p []byte) (int, error) {
	s.seen(http.StatusOK)
	return s.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController through.
func (s *statusWatch) Unwrap() http.ResponseWriter { return s.ResponseWriter }
