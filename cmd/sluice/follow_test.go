package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestFollowCommand: it prints the release of a workload, and says what is wrong with what it was
// given.
func TestFollowCommand(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code     int
		out, err string
	}{
		"deployment/web -n shop": {exitOK, `---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: web
  namespace: shop
spec:
  follow: Workload
  strategy:
    steps:
    - replicas: 1
    - replicas: 100%
  workloadRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
`, ""},
		"sts/db --steps=1,50%,100%": {exitOK, "- replicas: 1\n    - replicas: 50%\n    - replicas: 100%\n", ""},
		"pod/web":                   {exitUsage, "", `"pod/web" names no workload: write KIND/NAME, such as deployment/web`},
		"deployment/We_b":           {exitUsage, "", `"We_b" is not a name of a workload: `},
		"ds/agent --steps=3,1":      {exitUsage, "", "--steps: spec.strategy.steps[1].replicas: "},
		"":                          {exitUsage, "", "name one workload, such as deployment/web"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"follow"}, strings.Fields(args)...), &stdout, &stderr)
		if code != want.code || !strings.Contains(stdout.String(), want.out) || !strings.Contains(stderr.String(), want.err) {
			t.Errorf("follow %s: got %d, %q and %q; want %d, %q and %q", args, code, stdout.String(), stderr.String(), want.code, want.out, want.err)
		}
	}
}
