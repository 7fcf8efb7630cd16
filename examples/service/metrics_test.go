package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnswersAreCounted: of eight requests a quarter fails, and /metrics has all of them.
func TestAnswersAreCounted(t *testing.T) {
	t.Setenv("VERSION", "v1")
	t.Setenv("FAIL", "0.25")
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.routes().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return answer
	}
	codes := map[int]int{}
	for range 8 {
		codes[get("/").Code]++
	}
	if codes[http.StatusOK] != 6 || codes[http.StatusInternalServerError] != 2 {
		t.Errorf("statuses %v, want 6 requests to succeed and 2 to fail", codes)
	}
	page := get("/metrics").Body.String()
	for _, line := range []string{
		`http_requests_total{code="200"} 6`, `http_requests_total{code="500"} 2`,
		`http_request_duration_seconds_bucket{le="10"} 8`, `http_request_duration_seconds_count 8`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("want %s, got\n%s", line, page)
		}
	}
}

func TestSharesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, share := range []string{"5%", "-0.1", "1.1", "NaN"} {
		if _, err := readFaults(share); err == nil || !strings.Contains(err.Error(), "a number from 0 to 1") {
			t.Errorf("FAIL=%s: want it refused with what to set, got %v", share, err)
		}
	}
}
