package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		args   []string
		want   options
		said   string
	}{
		"None":     {"the defaults tell the story", nil, options{pause: 2 * time.Second, timeout: time.Minute}, ""},
		"Keep":     {"what make demo ARGS=--keep gives", []string{"--keep"}, options{keep: true, pause: 2 * time.Second, timeout: time.Minute}, ""},
		"Metrics":  {"what a Prometheus is pointed at", []string{"--metrics-address=127.0.0.1:8080"}, options{metrics: "127.0.0.1:8080", pause: 2 * time.Second, timeout: time.Minute}, ""},
		"Argument": {"the demo takes flags only", []string{"web"}, options{}, `unexpected argument "web"`},
		"Unknown":  {"an unknown flag is told with all that there are", []string{"--fast"}, options{}, "-state-dir"},
		"Pause":    {"a pause is no time back", []string{"--pause=-1s"}, options{}, "must not be negative"},
		"Timeout":  {"with no time nothing comes about", []string{"--timeout=0"}, options{}, "must be more than 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := parseOptions(tc.args, &out)
			if failed := err != nil; failed != (tc.said != "") || !strings.Contains(out.String(), tc.said) {
				t.Fatalf("%s: got error %v and %q, want one with %q", tc.reason, err, out.String(), tc.said)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := parseOptions([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(out.String(), "Releases a Deployment") {
		t.Errorf("--help must tell what the demo does: got %v and %q", err, out.String())
	}
}
