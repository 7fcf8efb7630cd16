package main

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/test/node"
)

// demoEnv has this program be the demo, and run no test.
const demoEnv = "SLUICE_TEST_DEMO_TRAFFIC"

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	if os.Getenv(demoEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// stepLine is what the summary has of a step: its weight, the share that was measured, and how many
// requests that was measured of.
var stepLine = regexp.MustCompile(`(?m)^ +(\d+)%   [█░]+ +(\d+\.\d\d)%  of (\d+) requests, 0 failed$`)

// TestCanaryIsDrawn runs the demo as people do: it ends well, no request has failed, and the new
// version has answered the share of each step.
func TestCanaryIsDrawn(t *testing.T) {
	if os.Getenv(node.HostEnv) == "" || os.Getenv(node.TraefikEnv) == "" {
		t.Skip("needs nodes with real containers: make test-node")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), demoEnv+"=1")
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatalf("want the demo to exit with 0: %v", err)
	}
	picture, summary, found := strings.Cut(string(output), "\nThe release is complete,")
	if !found {
		t.Fatal("want the release to complete")
	}
	if !regexp.MustCompile(`(?m)^\d+ requests in all, 0 failed\.$`).MatchString(summary) {
		t.Error("want no request to fail")
	}
	for _, says := range []string{" 1%", "10%", "50%", "100%"} {
		if !strings.Contains(picture, says+"        ") {
			t.Errorf("want the picture to have a moment at which the route says %s", says)
		}
	}
	steps := stepLine.FindAllStringSubmatch(summary, -1)
	var weights []string
	for _, step := range steps {
		weights = append(weights, step[1])
		weight, _ := strconv.ParseFloat(step[1], 64)
		share, _ := strconv.ParseFloat(step[2], 64)
		requests, _ := strconv.Atoi(step[3])
		// Traefik takes turns, so that few requests are enough. Those that are under way when a step
		// begins are the step before's.
		const point, enough = 2, 500
		exactly := weight == 100
		if off := math.Abs(share - weight); off > point || share == 0 || exactly && off > 0 || requests < enough {
			t.Errorf("want v2 to answer %s%% of at least %d requests, within %d: %s", step[1], enough, point, step[0])
		}
	}
	if got := strings.Join(weights, " "); got != "1 10 50 100" {
		t.Errorf("want the steps 1 10 50 100 in the summary, it has %q", got)
	}
}
