package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotify: a sample goes to each receiver, what became of it is printed, and the address is not.
func TestNotify(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		if strings.HasSuffix(r.URL.Path, "gone") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "notices.yaml")
	text := fmt.Sprintf("receivers:\n- {name: chat, type: slack, url: %[1]s/very-secret}\n- {name: events, type: cloudevents, url: %[1]s/very-secret/gone}\n", server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	for args, want := range map[string]struct {
		code     int
		out, err string
	}{
		"--config=" + path: {
			exitError, "chat: delivered\nevents: not delivered: the receiver answered 404 Not Found\n", "sluice: 1 of 2 receivers did not accept the sample\n",
		},
		"--config=" + path + " --receiver=chat --kind=Drifted": {exitOK, "chat: delivered\n", ""},
		"--config=" + path + " --receiver=other":               {exitUsage, "", `no receiver has the name "other"`},
		"--config=" + path + " --kind=Done":                    {exitUsage, "", `"Done" is not one of [`},
		"--config=" + filepath.Dir(path) + "/none":             {exitError, "", "the file does not exist"},
		"": {exitUsage, "", "--config is missing"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"notify"}, strings.Fields(args)...), &stdout, &stderr)
		if code != want.code || stdout.String() != want.out || !strings.Contains(stderr.String(), want.err) {
			t.Errorf("%s: want %+v, got %d, %q, %q", args, want, code, stdout.String(), stderr.String())
		}
		if strings.Contains(stdout.String()+stderr.String(), "very-secret") {
			t.Errorf("%s: the output shows the address", args)
		}
	}
	if len(got) != 3 {
		t.Errorf("want three requests, got %d", len(got))
	}
}
