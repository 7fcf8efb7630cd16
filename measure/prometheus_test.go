package measure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// open returns a server on loopback that answers by handler, with a secret of its own.
func open(t *testing.T, handler http.HandlerFunc) *Server {
	t.Helper()
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // before its body is read, a server does not see that a client has gone
		handler(w, r)
	}))
	t.Cleanup(listener.Close)
	s, err := Open(Options{
		Address: listener.URL, Timeout: 2 * time.Second, Networks: dialer.Rules{Allowed: dialer.Loopback()},
		Header: http.Header{"Authorization": {"Bearer s3cret-token"}, "X-Scope-Orgid": {"shop"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

func TestPrometheusAnswers(t *testing.T) {
	at := time.Unix(1790000000, 500e6).UTC()
	for name, tc := range map[string]struct {
		body string
		want Answer
	}{
		"vector": {
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"pod":"web-1"},"value":[1790000000.5,"41"]},{"metric":{"pod":"web-2"},"value":[1790000000.5,"+Inf"]}]}}`,
			Answer{Series: []Series{{map[string]string{"pod": "web-1"}, 41, at}, {map[string]string{"pod": "web-2"}, math.Inf(1), at}}},
		},
		"scalar": {`{"status":"success","data":{"resultType":"scalar","result":[1790000000.5,"0.25"]}}`, Answer{Series: []Series{{nil, 0.25, at}}}},
		"empty":  {`{"status":"success","data":{"resultType":"vector","result":[]}}`, Answer{}},
		"a note": {
			`{"status":"success","data":{"resultType":"vector","result":[]},"infos":["PromQL info: metric might not be a counter"]}`,
			Answer{Notes: []string{"PromQL info: metric might not be a counter"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked *http.Request
			s := open(t, func(w http.ResponseWriter, r *http.Request) {
				asked = r
				says(tc.body)(w, r)
			})
			got, err := s.Prometheus(t.Context(), `sum by (pod) (http_requests_total)`)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Series {
				got.Series[i].At = got.Series[i].At.UTC()
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Answer{})); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if asked.URL.Path != "/api/v1/query" || asked.Form.Get("query") != `sum by (pod) (http_requests_total)` ||
				asked.Header.Get("Authorization") != "Bearer s3cret-token" || asked.Header.Get("X-Scope-Orgid") != "shop" {
				t.Errorf("asked for %s with %v and %v", asked.URL, asked.Form, asked.Header)
			}
		})
	}
}

// TestServersThatFail: each way to fail has its kind, within the time limit, and no error has the
// secret.
func TestServersThatFail(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		kind    Kind
		says    string
	}{
		"bad query":      {status(400, `{"status":"error","errorType":"bad_data","error":"parse error: unexpected )"}`), BadQuery, "unexpected )"},
		"execution":      {status(422, `{"status":"error","errorType":"execution","error":"many-to-many matching"}`), BadQuery, "many-to-many"},
		"its time limit": {status(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), Unreachable, "timed out"},
		"unauthorised":   {status(401, "Bearer s3cret-token is unknown"), Unauthorised, "[hidden]"},
		"forbidden":      {status(403, "no"), Unauthorised, "403"},
		"elsewhere":      {status(404, "no"), Misconfigured, "correct the address"},
		"down":           {status(502, "<html>bad gateway s3cret-token</html>"), Unreachable, "502"},
		"limits":         {status(429, "slow down"), Unreachable, "429"},
		"html":           {says("<html>log in</html>"), BadAnswer, "does not speak the API"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"status":"success"`)
		}, Unreachable, "unexpected EOF"},
		"cut JSON":    {says(`{"status":"success","data":{"resultType":"vector","result":[`), BadAnswer, "does not speak"},
		"partial":     {says(`{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store 2 is away"]}`), BadAnswer, "store 2 is away"},
		"a matrix":    {says(`{"status":"success","data":{"resultType":"matrix","result":[]}}`), BadQuery, "must give a vector"},
		"a text":      {says(`{"status":"success","data":{"resultType":"string","result":[1,"x"]}}`), BadAnswer, "unexpected value type"},
		"no number":   {says(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}`), BadAnswer, "does not speak"},
		"histograms":  {says(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[]}]}]}}`), BadQuery, "histogram_count"},
		"nothing":     {says(`{}`), BadAnswer, "has no data"},
		"null data":   {says(`{"status":"success","data":null}`), BadAnswer, "has no data"},
		"null series": {says(`{"status":"success","data":{"resultType":"vector","result":[null]}}`), BadAnswer, "null"},
		"too large":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", maxBody+2)) }, BadAnswer, "larger than 8 MiB"},
		"many series": {says(`{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(`{"metric":{},"value":[1,"1"]},`, maxSeries) + `{"metric":{},"value":[1,"1"]}]}}`), BadAnswer, "10001 series"},
		"tiny series": {says(`{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(`{},`, maxCommas+1) + `{}]}}`), BadAnswer, "500000 values"},
		"secret host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://s3cret-token.example/", http.StatusFound)
		}, Misconfigured, "[hidden]"},
		"a reason": {reason("401 s3cret-token " + strings.Repeat("x", 9000)), Unauthorised, "401 Unauthorized"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://198.51.100.7/login", http.StatusFound)
		}, Misconfigured, "redirects to 198.51.100.7"},
		"never": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Unreachable, "within 2s"},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}, Unreachable, "within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, tc.handler)
			begin := time.Now()
			answer, err := s.Prometheus(t.Context(), "up")
			known, is := errors.AsType[*Error](err)
			if !is {
				t.Fatalf("got %v and error %v, want one with a kind", answer, err)
			}
			if known.Kind != tc.kind || !strings.Contains(known.Message, tc.says) {
				t.Errorf("got %s: %s; want %s with %q", known.Kind, known.Message, tc.kind, tc.says)
			}
			if strings.Contains(known.Message, "s3cret") || len(known.Message) > 600 {
				t.Errorf("error with the secret, or too long: %s", known.Message)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// reason answers with a status line of its own.
func reason(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
	}
}

// TestSecretsOfOneServer: none is left where one begins like another, or a long message ends in it.
func TestSecretsOfOneServer(t *testing.T) {
	for range 20 { // maps have no order
		s := &Server{header: http.Header{"A": {"s3cret"}, "B": {"s3cret-token"}, "C": {"Basic " + base64.StdEncoding.EncodeToString([]byte("ada:pass word"))}}}
		for _, said := range []string{"s3cret-token", "user ada, pass word", strings.Repeat(" ", maxRead-8) + "s3cret-token"} {
			if got := s.words(said); strings.Contains(got, "s3cr") || strings.Contains(got, "token") || strings.Contains(got, "pass word") {
				t.Fatalf("%q is said as %q", strings.TrimSpace(said), got)
			}
		}
	}
}

// TestHeadersOfNoRequest: a header that no request could have is said when the server is opened.
func TestHeadersOfNoRequest(t *testing.T) {
	for name, value := range map[string]string{
		"Authorization": "Bearer s3cret\n", "X Y": "s3cret", "": "s3cret", "Host": "s3cret", "Content-Length": "5", "Transfer-Encoding": "chunked",
		"connection": "close", "Accept-Encoding": "br", "Content-Type": "text/plain", "Expect": "100-continue", "Upgrade": "h2c", "Trailer": "X", "Te": "trailers",
	} {
		_, err := Open(Options{Address: "http://prom:9090", Header: http.Header{name: {value}}})
		if known, is := errors.AsType[*Error](err); !is || known.Kind != Misconfigured || strings.Contains(known.Message, "s3cret") {
			t.Errorf("%q: got %v, want that it is refused", name, err)
		}
	}
}

// TestTimeLimitOfTheServer: Prometheus reads no fractions of seconds such as 1.5s.
func TestTimeLimitOfTheServer(t *testing.T) {
	for timeout, want := range map[time.Duration]string{1500 * time.Millisecond: "2s", 300 * time.Millisecond: "1s", 90 * time.Second: "1m30s"} {
		var asked string
		s := open(t, func(w http.ResponseWriter, r *http.Request) {
			asked = r.Form.Get("timeout")
			says(`{"status":"success","data":{"resultType":"vector","result":[]}}`)(w, r)
		})
		s.timeout = timeout
		if _, err := s.Prometheus(t.Context(), "up"); err != nil || asked != want {
			t.Errorf("%s: asked for %q with error %v, want %q", timeout, asked, err, want)
		}
	}
}

// TestCancelled: the caller's own end is no error of the server.
func TestCancelled(t *testing.T) {
	s := open(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Prometheus(ctx, "up"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestAddresses: an address of no server is refused, and so is a network that nobody allowed.
func TestAddresses(t *testing.T) {
	for address, says := range map[string]string{
		"":                        "must be a URL",
		"prometheus:9090":         "must be a URL",
		"file:///etc/passwd":      "must be a URL",
		"http://":                 "must be a URL",
		"http://ada:pw@prom:9090": "credentials belong in the Secret",
		"http://prom:9090/?x=y":   "credentials belong in the Secret",
		"http://prom:9090/#a":     "credentials belong in the Secret",
		"http://prom:9090\n/evil": "must be a URL",
	} {
		if _, err := Open(Options{Address: address}); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "pw@") {
			t.Errorf("%q: got %v, want %q", address, err, says)
		}
	}
	for _, address := range []string{"http://169.254.169.254", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"} {
		s, err := Open(Options{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Prometheus(t.Context(), "up")
		if known, is := errors.AsType[*Error](err); !is || known.Kind != Misconfigured || !strings.Contains(known.Message, "are not allowed") {
			t.Errorf("%s: got %v, want that the network is not allowed", address, err)
		}
	}
}
