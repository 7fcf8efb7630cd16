package measure

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/plain"
)

func TestJSON(t *testing.T) {
	var asked *http.Request
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		fmt.Fprint(w, `{"errors": 3, "by": [{"pod": "web-1"}]}`)
	})
	got, err := s.JSON(t.Context(), "v1/score", url.Values{"service": {"web shop"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"errors": 3.0, "by": []any{map[string]any{"pod": "web-1"}}}, got.JSON); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if asked.URL.String() != "/v1/score?service=web+shop" || asked.Header.Get("Authorization") != "Bearer s3cret-token" {
		t.Errorf("asked for %s with %v", asked.URL, asked.Header)
	}
}

// TestPathsStayBelowTheAddress: a query can't reach what the address does not give.
func TestPathsStayBelowTheAddress(t *testing.T) {
	s := open(t, func(http.ResponseWriter, *http.Request) { t.Error("was asked") })
	for _, path := range []string{"..", "../admin", "a/../../admin", "%2e%2e/admin", "a/%2E%2E/%2e%2e/admin", "a/..;/admin", "..;x=y/admin", `..\admin`, "a%5c..%5cadmin", "%252e%252e/admin", "a%252f..%252fadmin"} {
		_, err := s.JSON(t.Context(), path, nil)
		if known, is := errors.AsType[*Error](err); !is || known.Kind != BadQuery {
			t.Errorf("%s: got %v, want an error of kind %s", path, err, BadQuery)
		}
	}
}

func TestJSONThatFails(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		kind    Kind
	}{
		"bad request":  {status(400), BadQuery},
		"unauthorised": {status(401), Unauthorised},
		"missing":      {status(404), Misconfigured},
		"down":         {status(500), Unreachable},
		"no content":   {status(204), Unreachable},
		"text":         {says("up"), BadAnswer},
		"two":          {says("1 2"), BadAnswer},
		"nothing":      {says(""), BadAnswer},
		"large":        {says(`"` + strings.Repeat("x", maxJSON) + `"`), BadAnswer},
		"deep":         {says(strings.Repeat("[", maxJSON-1)), BadAnswer},
		"never":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Unreachable},
		"redirects":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, Misconfigured},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, err := open(t, tc.handler).JSON(t.Context(), "x", nil)
			if known, is := errors.AsType[*Error](err); !is || known.Kind != tc.kind {
				t.Errorf("got %v, %v; want an error of kind %s", value, err, tc.kind)
			}
		})
	}
}

// TestPathsWithDots: dots and percents that lead nowhere are part of a path.
func TestPathsWithDots(t *testing.T) {
	s := open(t, says("1"))
	for _, path := range []string{"v1.2/...", "a..b", "100%25", "a;b=c", "web..;"} {
		if _, err := s.JSON(t.Context(), path, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPathsAreWordsOnALine: a path of a query steers no terminal, and forges no line.
func TestPathsAreWordsOnALine(t *testing.T) {
	s := open(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	_, err := s.JSON(t.Context(), "x%1b]0;owned%07%0a::error::"+strings.Repeat("y", 1900), nil)
	if known, is := errors.AsType[*Error](err); !is || known.Kind != Misconfigured || plain.Line(known.Message) != known.Message || len(known.Message) > 600 {
		t.Errorf("got %q, want a harmless line", err)
	}
}

// TestAnswersThatRepeatCredentials: a path that repeats what it was sent gives no credential away.
func TestAnswersThatRepeatCredentials(t *testing.T) {
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"headers": %q, "tenant": "shop"}`, r.Header.Get("Authorization"))
	})
	got, err := s.JSON(t.Context(), "echo", nil)
	if diff := cmp.Diff(any(map[string]any{"headers": "Bearer [hidden]", "tenant": "shop"}), got.JSON); err != nil || diff != "" {
		t.Errorf("error %v; want -, got +:\n%s", err, diff)
	}
}
