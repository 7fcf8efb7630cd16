package notices

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/telemetry/story"
)

// to returns a receiver of events at an address.
func to(address string) *receiver {
	loopback, _ := checkAddress(address, true)
	return &receiver{name: "r", kind: typeEvents, address: conceal(address), loopback: loopback}
}

// send sends a notice to a receiver, once.
func send(t *testing.T, r *receiver, timeout time.Duration) outcome {
	t.Helper()
	client, err := newClient(r)
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	client.Timeout = timeout
	defer client.CloseIdleConnections()
	return deliver(t.Context(), client, r, &pending{ID: "id", Notice: Sample(story.ReleaseStarted)}, time.Now())
}

// TestAnswers: a receiver's answer decides on the retry, and is not shown.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		answer http.HandlerFunc
		want   outcome
	}{
		"taken":      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }, outcome{delivered: true}},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, outcome{delivered: true}},
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "invalid_token very-secret", http.StatusForbidden)
		}, outcome{final: true, words: "the receiver answered 403 Forbidden"}},
		"gone": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, outcome{final: true, words: "the receiver answered 410 Gone"}},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}, outcome{after: 30 * time.Second, words: "the receiver answered 429 Too Many Requests"}},
		"too many for a year": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, outcome{after: longestRetryAfter, words: "the receiver answered 503 Service Unavailable"}},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, outcome{
			final: true, words: "the receiver answered 307 Temporary Redirect: redirects are not followed, give the URL that it leads to",
		}},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcome{words: "the server closed the connection"}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				tc.answer(w, r)
			}))
			defer server.Close()
			got := send(t, to(server.URL+"/very-secret"), soon)
			if n := asked.Load(); got != tc.want || n != 1 {
				t.Errorf("want %+v and one request, got %+v and %d", tc.want, got, n)
			}
		})
	}
}

// TestEndlessAnswer: no more of an answer is read than a connection needs to be used again.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		total := 0
		for total < 1<<30 {
			n, err := w.Write(make([]byte, 1<<20))
			if total += n; err != nil {
				break
			}
		}
		written <- total
	}))
	defer server.Close()
	if got := send(t, to(server.URL), soon); !got.delivered {
		t.Errorf("want it delivered, got %+v", got)
	}
	if total := <-written; total > 64<<20 {
		t.Errorf("want the connection closed, %d bytes were read or buffered", total)
	}
}

// TestSlowReceiver: one that does not answer is given up for now.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer server.Close()
	defer close(done)
	if got, want := send(t, to(server.URL), 50*time.Millisecond), (outcome{words: "the server did not answer in time"}); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
}

// TestAddressesOfReceivers: requests go neither to link-local addresses nor to those of clouds, and
// to loopback only if the URL names it. Nothing of an address is in what is said of it.
func TestAddressesOfReceivers(t *testing.T) {
	t.Parallel()
	const closed = "127.0.0.1:1" // a port that no other test is given
	denied := "the address is link-local, loopback or a metadata service of a cloud, which is not allowed"
	for address, want := range map[string]string{
		"http://169.254.169.254/very-secret":   denied,
		"https://[fd00:ec2::254]/very-secret":  denied,
		"http://[::ffff:169.254.169.254]/":     denied,
		"http://0.0.0.0/very-secret":           denied,
		"http://" + closed + "/very-secret":    "the server refuses connections",
		"https://very-secret.invalid/services": "the name of the server can't be resolved",
	} {
		if got := send(t, to(address), soon); got != (outcome{words: want}) {
			t.Errorf("%s: want %q, got %+v", address, want, got)
		}
	}
	r := to("http://" + closed)
	r.loopback = false
	if got := send(t, r, soon); got.words != denied {
		t.Errorf("want loopback denied to a name that leads there, got %+v", got)
	}
}

// TestCertificates: a server's certificate is checked, by those of caFile too.
func TestCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if got := send(t, to(server.URL), soon); got.words != "the certificate of the server is not trusted" {
		t.Errorf("want an unknown certificate refused, got %+v", got)
	}
	r := to(server.URL)
	r.bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if got := send(t, r, soon); !got.delivered {
		t.Errorf("want the certificate of caFile trusted, got %+v", got)
	}
	r.bundle = []byte("none")
	if _, err := newClient(r); err == nil {
		t.Error("want a bundle without certificate refused")
	}
}

// TestCauses: no quotation in an error is shown.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, inner := range []error{
		errors.New("malformed HTTP response \"very-secret\""), context.DeadlineExceeded, io.ErrUnexpectedEOF, &net.DNSError{Name: "very-secret"},
		&net.OpError{Op: "dial", Err: errors.New("very-secret")}, errAddress,
	} {
		err := &url.Error{Op: "Post", URL: "https://very-secret", Err: fmt.Errorf("very-secret: %w", inner)}
		if words := cause(err); words == "" || strings.Contains(words, "secret") {
			t.Errorf("%v: got %q", err, words)
		}
	}
}
