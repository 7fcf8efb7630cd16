package github_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/forge"
)

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const refusal = `{"message":"You have exceeded a secondary rate limit."}`
	now := newClock().Now()
	in := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	date := now.UTC().Format(http.TimeFormat)
	tests := map[string]struct {
		reason  string
		status  int
		body    string
		headers []string
		want    time.Duration
	}{
		"RetryAfter403":  {"Retry-After counts", 403, refusal, []string{"Retry-After", "90"}, 90 * time.Second},
		"RetryAfter429":  {"429 is a limit, too", 429, "{}", []string{"Retry-After", "90"}, 90 * time.Second},
		"RetryAfterDate": {"Retry-After may be a time", 429, "{}", []string{"Retry-After", now.Add(time.Hour).UTC().Format(http.TimeFormat), "Date", date}, time.Hour},
		"Primary403": {
			"the hour's requests are used up", 403, `{"message":"no"}`,
			[]string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(40 * time.Minute), "Date", date}, 40 * time.Minute,
		},
		"Primary429": {
			"429 is a limit, too", 429, "{}",
			[]string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(40 * time.Minute), "Date", date}, 40 * time.Minute,
		},
		"ServersClock": {
			"how long it is counts by the server's clock", 403, "{}",
			[]string{
				"X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(-50 * time.Minute),
				"Date", now.Add(-time.Hour).UTC().Format(http.TimeFormat),
			},
			10 * time.Minute,
		},
		"Secondary403":     {"no word on how long", 403, refusal, nil, time.Minute},
		"Secondary429":     {"no word on how long", 429, "{}", nil, time.Minute},
		"SecondaryByPage":  {"the page that it names says what it is", 403, `{"message":"no","documentation_url":"https://x/#secondary-rate-limits"}`, nil, time.Minute},
		"SecondaryRemains": {"requests remain all the same", 403, refusal, []string{"X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", in(time.Hour)}, time.Minute},
		"Nonsense":         {"a server must not stop us for good", 429, "{}", []string{"Retry-After", "999999999"}, 24 * time.Hour},
		"Zero":             {"there is no busy loop", 429, "{}", []string{"Retry-After", "0"}, time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &clock{now: now}
			s := serve(t, answering(tc.status, tc.body, tc.headers...))
			client := clientOf(t, s.URL, at(clock))
			for range 3 {
				_, err := client.Repository(t.Context())
				limited, ok := errors.AsType[*forge.LimitedError](err)
				if !ok {
					t.Fatalf("%s: want a limit, got %v", tc.reason, err)
				}
				if got := limited.Until.Sub(now); got != tc.want {
					t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
				}
			}
			if s.count() != 1 {
				t.Errorf("while limited nothing may be sent: got %d requests", s.count())
			}
			clock.advance(tc.want - time.Nanosecond)
			_, _ = client.Repository(t.Context())
			if s.count() != 1 {
				t.Error("nothing may be sent before the time is over")
			}
			clock.advance(time.Nanosecond)
			_, _ = client.Repository(t.Context())
			if s.count() != 2 {
				t.Error("when the time is over it must be tried again")
			}
		})
	}
}

func TestLackOfRightsIsNoLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, answering(http.StatusForbidden, `{"message":"Resource not accessible by integration"}`))
	client := clientOf(t, s.URL)
	for range 2 {
		_, err := client.Repository(t.Context())
		wantKind(t, err, forge.Forbidden, "a 403 may be about rights")
	}
	if s.count() != 2 {
		t.Errorf("a lack of rights must not stop other requests: got %d", s.count())
	}
}

func TestLimitsWithoutATimeGrow(t *testing.T) {
	t.Parallel()
	var fine atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if fine.Load() {
			answering(http.StatusNotFound, "{}")(w, r)
			return
		}
		answering(http.StatusTooManyRequests, "{}")(w, r)
	})
	clock := newClock()
	client := clientOf(t, s.URL, at(clock))
	pause := func() time.Duration {
		_, err := client.Repository(t.Context())
		limited, ok := errors.AsType[*forge.LimitedError](err)
		if !ok {
			t.Fatalf("want a limit, got %v", err)
		}
		d := limited.Until.Sub(clock.Now())
		clock.advance(d)
		return d
	}
	var got []time.Duration
	for range 8 {
		got = append(got, pause()/time.Minute)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("each limit in a row must last longer, up to an hour (-want +got minutes):\n%s", diff)
	}
	fine.Store(true)
	_, err := client.Repository(t.Context())
	wantKind(t, err, forge.NotFound, "the limit is over")
	fine.Store(false)
	if got := pause(); got != time.Minute {
		t.Errorf("after an answer it begins anew: got %s", got)
	}
}

func TestTheLastRequestIsNotExceeded(t *testing.T) {
	t.Parallel()
	clock := newClock()
	reset := clock.Now().Add(30 * time.Minute)
	s := serve(t, answering(http.StatusOK, `{"id":7}`,
		"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10),
		"Date", clock.Now().UTC().Format(http.TimeFormat)))
	client := clientOf(t, s.URL, at(clock))
	if _, err := client.Repository(t.Context()); err != nil {
		t.Fatalf("the last request within the limit must succeed: %v", err)
	}
	_, err := client.Self(t.Context())
	wantKind(t, err, forge.Limited, "the one after it would be refused")
	if s.count() != 1 {
		t.Errorf("it must not be sent: got %d requests", s.count())
	}
	got := client.Budget()
	if got.Limit != 60 || got.Remaining != 0 || got.Requests != 1 || !got.Reset.Equal(reset) || !got.LimitedUntil.Equal(reset) {
		t.Errorf("the budget must say so: got %+v", got)
	}
}

func TestUnchangedAnswersComeFromMemory(t *testing.T) {
	t.Parallel()
	var version atomic.Int64
	version.Store(1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		etag := fmt.Sprintf(`W/"%d"`, version.Load())
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(w, `[{"id":%d,"context":"ci","state":"success"}]`, version.Load())
	})
	client := clientOf(t, s.URL)
	read := func() int64 {
		statuses, err := client.CommitStatuses(t.Context(), someCommit, "ci")
		if err != nil || len(statuses) != 1 {
			t.Fatalf("read statuses: %v, %v", statuses, err)
		}
		return statuses[0].ID
	}
	if first, second := read(), read(); first != 1 || second != 1 {
		t.Errorf("an answer that is still good must be the same: got %d and %d", first, second)
	}
	version.Store(2)
	if got := read(); got != 2 {
		t.Errorf("a new answer must be seen: got %d", got)
	}
	if got := client.Budget(); got.Requests != 6 || got.Unchanged != 2 {
		t.Errorf("the budget must tell what cost nothing: got %+v", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	padding := make([]byte, 1<<20)
	for i := range padding {
		padding[i] = ' '
	}
	var known atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			known.Add(1)
		}
		w.Header().Set("ETag", `"x"`)
		fmt.Fprintf(w, `[{"id":1,"context":"ci"}%s]`, padding)
	})
	client := clientOf(t, s.URL)
	for range 2 {
		for i := range 10 {
			sha := fmt.Sprintf("%040x", i)
			if _, err := client.CommitStatuses(t.Context(), sha, "ci"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := known.Load(); got != 0 {
		t.Errorf("of ten megabytes in turn none can be remembered in four: got %d", got)
	}
}

// TestListsThatGrow: a forge that answers page after page within what a page may have, or with
// objects that are larger in memory than in the answer, is not listened to until nothing is left.
func TestListsThatGrow(t *testing.T) {
	t.Parallel()
	const team, members = "/api/v3/orgs/shop/teams/ops", "/api/v3/orgs/shop/teams/ops/members"
	tests := map[string]struct {
		page  string
		says  string
		pages int
	}{
		"pages of text":      {`[` + strings.Repeat(`{"id":1,"login":"ada","bio":"`+strings.Repeat("{", 50<<10)+`"},`, 99) + `{"id":1}]`, "larger than", 4},
		"objects of 3 bytes": {`[` + strings.Repeat("{},", 60_000) + `{}]`, "more than 50000 values", 1},
		"numbers":            {`[` + strings.Repeat("0,", 60_000) + `0]`, "more than 50000 values", 1},
		"pages of objects":   {`[` + strings.Repeat("{},", 2_000) + `{}]`, "more than 3000 items", 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *server
			s = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == team {
					fmt.Fprint(w, `{"id":7}`)
					return
				}
				if r.URL.Path != members {
					t.Errorf("want members asked for, got %s", r.URL)
				}
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, s.URL, members, page+1))
				fmt.Fprint(w, tc.page)
			})
			_, err := clientOf(t, s.URL).Team(t.Context(), "shop/ops")
			if err == nil || !strings.Contains(err.Error(), tc.says) || s.count() != tc.pages+1 {
				t.Errorf("want it %s after %d pages, got %v after %d", tc.says, tc.pages, err, s.count())
			}
		})
	}
}

// TestReleasesThatGrow: nor one whose answers all are within their limits, and that goes on and on:
// each commit of a release was brought by a pull request of its own, with commits of its own.
func TestReleasesThatGrow(t *testing.T) {
	t.Parallel()
	const total = 250
	sha := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	commits := make([]string, total)
	for i := range commits {
		commits[i] = fmt.Sprintf(`{"sha":%q,"parents":[{"sha":%q}],"commit":{"message":"x"}}`, sha(i+1), sha(i))
	}
	long := strings.Repeat("x", 5<<20)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v3/repos/shop/web")
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		var number int
		switch _, err := fmt.Sscanf(path, "/pulls/%d", &number); {
		case strings.HasPrefix(path, "/compare/"):
			from := min((page-1)*per, total)
			fmt.Fprintf(w, `{"total_commits":%d,"commits":[%s]}`, total, strings.Join(commits[from:min(from+per, total)], ","))
		case strings.HasSuffix(path, "/pulls"): // of a commit
			var made int
			fmt.Sscanf(path, "/commits/%x/", &made)
			fmt.Fprintf(w, `[{"number":%d,"merged_at":"2026-01-01T00:00:00Z","head":{"sha":%q,"ref":"x","repo":{"id":8}},"base":{"ref":"main","repo":{"id":7}},"body":%q}]`, made+1, sha(made), long)
		case path == "/activity":
			fmt.Fprintf(w, `[{"ref":"refs/heads/main","before":%q,"after":%q,"activity_type":"push","actor":{"id":1,"login":"ada"}}]`, sha(0), sha(total))
		case strings.HasSuffix(path, "/files"):
			fmt.Fprint(w, `[]`)
		case strings.HasSuffix(path, "/commits"):
			fmt.Fprintf(w, `[%s]`, commits[0])
		case err == nil:
			fmt.Fprintf(w, `{"number":%d,"merged":true,"merge_commit_sha":%q,"head":{"sha":%q},"base":{"ref":"main"}}`, number, sha(total), sha(total))
		case path == "":
			fmt.Fprint(w, `{"id":7,"full_name":"shop/web"}`)
		case path == "/api/v3/user":
			fmt.Fprint(w, `{"id":1,"login":"sluice"}`)
		case strings.HasPrefix(path, "/commits/"):
			fmt.Fprintf(w, `{"sha":%q,"files":[]}`, strings.TrimPrefix(path, "/commits/"))
		default:
			fmt.Fprint(w, `[]`)
		}
	})
	_, err := clientOf(t, s.URL).ReadApproval(t.Context(), forge.ApprovalQuery{Number: 1, Tip: sha(total), Branch: "main", ReleaseCommit: sha(total), StableCommit: sha(0)})
	if err == nil || !strings.Contains(err.Error(), "the forge's answers are larger than allowed") || s.count() > 40 {
		t.Errorf("want an end to it, got %v after %d requests", err, s.count())
	}
}
