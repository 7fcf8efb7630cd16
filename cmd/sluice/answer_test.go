package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestServersThatDoNotAnswer: a command does not wait without an end for a server that takes a
// connection and says nothing, but an answer may take longer than that once it has begun.
func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	const within = 300 * time.Millisecond
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/dead" {
			select {
			case <-ended:
			case <-req.Context().Done():
			}
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-time.After(3 * within)
		_, _ = io.WriteString(w, "late")
	}))
	defer server.Close()
	defer close(ended)
	client := &http.Client{Transport: answering(within)(http.DefaultTransport)}
	began := time.Now()
	resp, err := client.Get(server.URL + "/dead")
	if err == nil {
		defer resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "no answer from the API server at ") {
		t.Errorf("got %v, %v", resp, err)
	}
	if took := time.Since(began); took > 20*within {
		t.Errorf("that took %s", took)
	}
	cptest.Eventually(t, soon, func() error {
		resp, err := client.Get(server.URL + "/slow")
		if err != nil {
			return err // on a busy machine it may begin too late
		}
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); string(text) != "late" || err != nil {
			t.Errorf("an answer that has begun: %q, %v", text, err)
		}
		return nil
	})
}
