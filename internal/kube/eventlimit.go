package kube

import (
	"net/http"
	"strings"

	"k8s.io/client-go/transport"
)

// eventsAtOnce is how many events are sent at the same time.
const eventsAtOnce = 10

// LimitEvents has a client send few events at once; others wait their turn. client-go sends each as
// soon as it is recorded: of a thousand releases that begin together, those beyond the streams of a
// connection would each open a connection of their own, and hold up what moves pods.
func LimitEvents() transport.WrapperFunc {
	turns := make(chan struct{}, eventsAtOnce)
	return func(next http.RoundTripper) http.RoundTripper { return &eventLimit{next, turns} }
}

type eventLimit struct {
	next  http.RoundTripper
	turns chan struct{}
}

// RoundTrip sends a request.
func (l *eventLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.Contains(req.URL.Path, "/apis/events.k8s.io/") {
		return l.next.RoundTrip(req)
	}
	select {
	case l.turns <- struct{}{}:
		defer func() { <-l.turns }()
		return l.next.RoundTrip(req)
	case <-req.Context().Done():
		if req.Body != nil {
			_ = req.Body.Close() // it was not sent
		}
		return nil, req.Context().Err()
	}
}

// WrappedRoundTripper returns what client-go looks for beneath.
func (l *eventLimit) WrappedRoundTripper() http.RoundTripper { return l.next }
