package app

import (
	"net/http"
	"time"

	"k8s.io/client-go/transport"
)

// quiet bounds a pause between requests: after a longer one a controller is at rest.
const quiet = 15 * time.Second

// freeAtRest has a client call free each time it has sent no request for so long, new watches
// aside. The garbage collector waits until the heap has doubled. At rest it does not grow, and
// what releases left in it would stay.
func freeAtRest(quiet time.Duration, free func()) transport.WrapperFunc {
	timer := time.AfterFunc(quiet, free)
	return func(next http.RoundTripper) http.RoundTripper { return resting{next, timer, quiet} }
}

// resting puts off a timer with each request.
type resting struct {
	next  http.RoundTripper
	timer *time.Timer
	quiet time.Duration
}

// RoundTrip sends a request.
func (r resting) RoundTrip(req *http.Request) (*http.Response, error) {
	if !req.URL.Query().Has("watch") {
		r.timer.Reset(r.quiet)
	}
	return r.next.RoundTrip(req)
}

// WrappedRoundTripper returns what client-go looks for beneath.
func (r resting) WrappedRoundTripper() http.RoundTripper { return r.next }
