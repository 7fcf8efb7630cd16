package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// forgeFunc is a forge.
type forgeFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f forgeFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestUnansweredRequestsAreCounted(t *testing.T) {
	t.Parallel()
	waited := int64(0)
	l := &limiter{limit: &Limit{now: time.Now}, next: forgeFunc(func(*http.Request) (*http.Response, error) {
		waited = Unanswered()
		return httptest.NewRecorder().Result(), nil
	})}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	response, err := l.RoundTrip(request)
	if err != nil || response.Body.Close() != nil || waited < 1 {
		t.Errorf("want a request counted until it is answered, got %d and %v", waited, err)
	}
}
