package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a listener whose connections are pipes, on which the clock of a test counts.
type piped struct {
	come chan net.Conn
	done chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case conn := <-p.come:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error   { close(p.done); return nil }
func (p *piped) Addr() net.Addr { return &net.TCPAddr{} }

// serving returns a client's end of a connection to a handler's server.
func serving(t *testing.T, handler http.Handler) (client net.Conn) {
	t.Helper()
	listener := &piped{make(chan net.Conn), make(chan struct{})}
	server, ended := Server(handler), make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	client, conn := net.Pipe()
	listener.come <- conn
	t.Cleanup(func() {
		_, _ = client.Close(), server.Close()
		<-ended
	})
	return client
}

// TestBodiesThatNeverCome: a client that announces a body and sends none is answered, and its
// connection ends.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		request string
		status  string
		within  time.Duration
	}{
		"health":  {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", "400", time.Second},
		"chunked": {"HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "400", time.Second},
		"post":    {"POST /logout HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", "403", bodyTimeout + time.Second},
		"unread":  {"POST /nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", "403", bodyTimeout + time.Second},
		"form": {
			"POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=b",
			"400", 2*bodyTimeout + time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/form" && !readForm(w, r) {
						return
					}
					http.Error(w, "no", http.StatusForbidden)
				}))
				began := time.Now()
				if _, err := io.WriteString(client, tc.request); err != nil {
					t.Fatal(err)
				}
				_ = client.SetReadDeadline(began.Add(time.Hour))
				got, err := io.ReadAll(client)
				if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 "+tc.status) {
					t.Errorf("got %v, %.100q", err, got)
				}
				if took := time.Since(began); took > tc.within {
					t.Errorf("the connection ended after %v, want %v", took, tc.within)
				}
			})
		})
	}
}

// TestAnswersThatNobodyReads: a client that reads nothing holds a page, or a stream, for a while
// only; one that reads has each answer and each event.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("a long page ", 10_000)
	handler := func(ended chan<- time.Time) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { ended <- time.Now() }()
			if r.URL.Path == "/page" {
				_, _ = io.WriteString(w, page)
				return
			}
			for range 10 {
				if _, err := io.WriteString(w, "event\n"); err != nil {
					return
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
				<-time.After(time.Minute) // of the test's clock
			}
		})
	}
	for _, path := range []string{"/page", "/stream"} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Time, 1)
			client := serving(t, handler(ended))
			began := time.Now()
			if _, err := fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			select {
			case at := <-ended:
				if took := at.Sub(began); took > writeTimeout {
					t.Errorf("%s was held for %v", path, took)
				}
			case <-time.After(24 * time.Hour):
				t.Errorf("%s is held for a day", path)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		client := serving(t, handler(make(chan time.Time, 2)))
		answers := bufio.NewReader(client)
		for _, path := range []string{"/stream", "/page"} {
			if _, err := fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close() // it was only read
			if want := map[string]string{"/stream": strings.Repeat("event\n", 10), "/page": page}[path]; err != nil || string(body) != want {
				t.Errorf("%s: %d of %d bytes, %v", path, len(body), len(want), err)
			}
			<-time.After(time.Minute) // longer than a write may take
		}
	})
}
