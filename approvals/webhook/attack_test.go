package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/approvals/webhook"
)

// slowly opens so many connections that send one byte of their body.
func slowly(t *testing.T, server *httptest.Server, path, from string, count int) (opened []net.Conn) {
	t.Helper()
	for range count {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Forwarded-For: %s\r\n"+
			"X-Hub-Signature-256: sha256=%s\r\nContent-Length: 1000\r\n\r\n{", path, from, strings.Repeat("0", 64))
		opened = append(opened, conn)
	}
	return opened
}

// genuine sends a signed webhook and returns the status.
func genuine(t *testing.T, server *httptest.Server, from string, n int) int {
	t.Helper()
	body := fmt.Appendf(nil, `{"zen":%d}`, n)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/hooks/lab/shop", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", from)
	r.Header.Set("X-Github-Event", "ping")
	r.Header.Set("X-Github-Delivery", fmt.Sprint(n))
	r.Header.Set("X-Hub-Signature-256", sign(body, secret))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestAttackSlowBodies: Bodies that come slowly keep no webhook away, from however many addresses
// and for whichever source: they take hardly more memory than was sent of them, and each is given
// up after seconds.
func TestAttackSlowBodies(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	receiver := webhook.New(c, c, webhook.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	slowly(t, server, "/hooks/no/such", "203.0.113.66", 40)
	var sent []net.Conn
	for _, stranger := range []string{"203.0.113.66", "203.0.113.67", "203.0.113.68"} {
		sent = append(sent, slowly(t, server, "/hooks/lab/shop", stranger, 40)...)
	}
	answers := make(chan string, len(sent))
	for _, conn := range sent {
		go func() {
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				answers <- err.Error()
				return
			}
			line := make([]byte, len("HTTP/1.1 408"))
			_, err := io.ReadFull(conn, line)
			answers <- fmt.Sprint(string(line), err)
		}()
	}
	counts := map[string]int{}
	for n := 0; len(counts) == 0; n++ {
		if code := genuine(t, server, "140.82.112.1", n); code != http.StatusAccepted {
			t.Errorf("a genuine webhook among slow bodies of strangers: got %d, want 202", code)
		}
		select {
		case answer := <-answers:
			counts[answer]++
		default:
		}
	}
	for range len(sent) - 1 {
		counts[<-answers]++
	}
	if counts["HTTP/1.1 408<nil>"] != len(sent) {
		t.Errorf("want all slow bodies given up, got %v", counts)
	}
}

// TestAttackFloodBehindAnIngress: all requests through an ingress come from one address. A
// stranger's requests through it take nothing from signed ones.
func TestAttackFloodBehindAnIngress(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	server := httptest.NewServer(webhook.New(c, c, webhook.Options{}))
	t.Cleanup(server.Close)
	for n := range 5 {
		for range 60 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/hooks/lab/shop", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		if code := genuine(t, server, "140.82.112.1", n); code != http.StatusAccepted {
			t.Errorf("a genuine webhook after %d requests of a stranger: got %d, want 202", (n+1)*60, code)
		}
	}
}

// TestAttackSignedFlood: a tenant has the secret of its own source, so that it can sign any number
// of webhooks. Each has the controller write, so a namespace has a share of that, and takes nothing
// from the others.
func TestAttackSignedFlood(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	receiver := webhook.New(c, c, webhook.Options{Clock: now})
	sent := 0
	send := func(namespace string) int {
		sent++
		body := fmt.Appendf(nil, `{"ref":"refs/heads/main","after":"%040d","repository":{"full_name":"Codertocat/Hello-World"}}`, sent)
		r := httptest.NewRequest(http.MethodPost, "/hooks/"+namespace+"/shop", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Github-Event", "push")
		r.Header.Set("X-Hub-Signature-256", sign(body, secret))
		recorder := httptest.NewRecorder()
		receiver.ServeHTTP(recorder, r)
		return recorder.Code
	}
	flood := func() (taken int) {
		before := c.patched
		for range 500 {
			if send("lab") == http.StatusAccepted {
				taken++
			}
		}
		if wrote := c.patched - before; wrote != taken {
			t.Errorf("%d webhooks were taken, and %d written", taken, wrote)
		}
		return taken
	}
	if taken := flood(); taken != 100 {
		t.Errorf("of 500 webhooks at once %d were passed on, want 100", taken)
	}
	if code := send("other"); code != http.StatusAccepted {
		t.Errorf("a webhook of another namespace: got %d, want 202", code)
	}
	now.SetTime(now.Now().Add(time.Second))
	if taken := flood(); taken != 20 {
		t.Errorf("a second later %d were passed on, want 20", taken)
	}
}

// held is a body of which all comes at once but for its end, which comes when it is released.
type held struct {
	left             int
	reading, release chan struct{}
}

func (h *held) Read(into []byte) (int, error) {
	if h.left > 0 {
		n := min(h.left, len(into))
		h.left -= n
		return n, nil
	}
	h.reading <- struct{}{}
	<-h.release
	return 0, io.EOF
}
