package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/forge"
)

// lying returns the API of a server that answers as it likes.
func lying(t *testing.T, answer func(*http.Request) (header http.Header, body string)) *API {
	t.Helper()
	server, err := url.Parse("https://git.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := NewServers(Common{Transport: forgeFunc(func(r *http.Request) (*http.Response, error) {
		header, body := answer(r)
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}).Open(server, "token", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &API{Base: server, Wire: opened, Total: "X-Total-Count", PerPage: "limit"}
}

// item takes as much memory as a pull request.
type item struct {
	ID   int64 `json:"id"`
	Rest [512]byte
}

// TestValuesThatGrow: a server of one tenant can't fill the memory of all with answers that are
// small as they are sent.
func TestValuesThatGrow(t *testing.T) {
	tests := map[string]struct{ page, says string }{
		"numbers":     {"[" + strings.Repeat("0,", 1_000_000) + "0]", "more than"},
		"nulls":       {"[" + strings.Repeat("null,", 1_000_000) + "null]", "more than"},
		"texts":       {"[" + strings.Repeat(`"",`, 1_000_000) + `""]`, "more than"},
		"lists":       {"[" + strings.Repeat("[],", 1_000_000) + "[]]", "more than"},
		"large pages": {"[" + strings.Repeat("{},", 20_000) + "{}]", "more than"},
	}
	for name, tc := range tests {
		api := lying(t, func(*http.Request) (http.Header, string) { return http.Header{}, tc.page })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := List[item](t.Context(), api, "items", nil)
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || !strings.Contains(err.Error(), tc.says) || took > 100 {
			t.Errorf("%s: want it refused, got %v after %d MiB", name, err, took)
		}
	}
}

// TestPagesThatLie: a list is read whole, or not at all.
func TestPagesThatLie(t *testing.T) {
	t.Parallel()
	page := func(items int) string { return "[" + strings.TrimSuffix(strings.Repeat(`{"id":1},`, items), ",") + "]" }
	tests := map[string]struct {
		total string
		pages []int
		want  forge.Kind
	}{
		"all":                    {"120", []int{50, 50, 20}, ""},
		"smaller pages":          {"25", []int{10, 10, 5}, ""},
		"no total":               {"", []int{50, 3}, ""},
		"fewer than it says":     {"120", []int{50, 50, 0}, forge.Transient},
		"an empty page between":  {"100", []int{50, 0, 50}, forge.Transient},
		"more than it says":      {"60", []int{50, 50}, forge.Transient},
		"a total below nothing":  {"-1", []int{50, 50, 0}, ""},
		"a total that overflows": {"99999999999999999999", []int{50, 3}, ""},
		"a total of no end":      {"9223372036854775807", []int{50, 3, 0}, forge.Transient},
	}
	for name, tc := range tests {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, whole=%t", name, whole), func(t *testing.T) {
				t.Parallel()
				asked := 0
				api := lying(t, func(*http.Request) (http.Header, string) {
					items := 0
					if asked < len(tc.pages) {
						items = tc.pages[asked]
					}
					asked++
					return http.Header{"X-Total-Count": {tc.total}}, page(items)
				})
				var err error
				if whole {
					_, err = List[item](t.Context(), api, "items", nil)
				} else {
					err = Walk(t.Context(), api, "items", nil, func([]item) bool { return false })
				}
				if forge.KindOf(err) != tc.want {
					t.Errorf("want %q, got %v", tc.want, err)
				}
			})
		}
	}
	endless := lying(t, func(*http.Request) (http.Header, string) { return http.Header{}, page(50) })
	if _, err := List[item](t.Context(), endless, "items", nil); forge.KindOf(err) != forge.Invalid {
		t.Errorf("want a list without end refused, got %v", err)
	}
}
