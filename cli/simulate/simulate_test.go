package simulate_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/simulate"
	"github.com/sluice-dev/sluice/internal/plain"
)

var update = flag.Bool("update", false, "write the golden files anew")

const deployment = "spec: {replicas: 10, strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}}"

// play simulates a release of steps, with a trace.
func play(t *testing.T, strategy, trace string) *simulate.Timeline {
	t.Helper()
	release, of := &v1alpha1.BatchRelease{}, &appsv1.Deployment{}
	release.Name = "web"
	if err := yaml.UnmarshalStrict([]byte(strategy), &release.Spec.Strategy); err != nil {
		t.Fatalf("read strategy: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(deployment), of); err != nil {
		t.Fatalf("read Deployment: %v", err)
	}
	parsed, err := simulate.Parse([]byte(trace))
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := simulate.Run(release, of, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return timeline
}

// TestGolden tells whole releases.
func TestGolden(t *testing.T) {
	t.Parallel()
	const three = "steps: [{replicas: 1, gates: [{pullRequest: {}}]}, {replicas: 30%, gates: [{soak: {duration: 10m}}]}, {replicas: 100%}]"
	cases := map[string]struct{ strategy, trace string }{
		"approved": {three, "approveAfter: 5m"},
		"waiting":  {three, ""},
		"scaled":   {"steps: [{replicas: 30%}, {replicas: 100%}]", "events: [{at: 1m, scale: 15}, {at: 3m, approve: true}, {at: 3m15s, scale: 6}]"},
		"broken":   {three + "\nonFailure: Rollback\nprogressDeadlineSeconds: 120", "events: [{at: 0s, broken: v2}]"},
		"crash":    {three, "events: [{at: 1m, crash: 1}, {at: 2m, heal: 1}, {at: 3m, rollback: true}]"},
		"rejected": {three, "events: [{at: 1m, reject: true}, {at: 5m, template: v3}, {at: 6m, approve: true}]"},
		"window":   {"steps: [{replicas: 1, gates: [{window: {schedule: '30 9 * * *'}}]}, {replicas: 100%}]", "start: 2026-01-05T09:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeline := play(t, tc.strategy, tc.trace)
			if len(timeline.Broken) > 0 {
				t.Errorf("want no promise broken, got %v", timeline.Broken)
			}
			var got strings.Builder
			if err := timeline.Write(&got, plain.Text); err != nil {
				t.Fatalf("write: %v", err)
			}
			path := filepath.Join("testdata", name+".txt")
			want, err := os.ReadFile(path)
			if err != nil && !*update {
				t.Fatalf("read golden file: %v", err)
			}
			if *update { // what is written anew differs from what was there, and fails
				if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
					t.Fatalf("write golden file: %v", err)
				}
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("-want +got; if it is meant, run with -update:\n%s", diff)
			}
		})
	}
}

// TestExpectations: a trace can be a test.
func TestExpectations(t *testing.T) {
	t.Parallel()
	timeline := play(t, "steps: [{replicas: 1}, {replicas: 100%}]", `events:
- {at: 1m, expect: {batch: 1/2, state: Blocking, new: 1, old: 9, available: 10}}
- {at: 1m, approve: true}
- {at: 10m, expect: {phase: Failed, new: 9}}
`)
	want := []string{`at 10m0s: phase is "Completed", not "Failed"`, "at 10m0s: new is 10, not 9"}
	if diff := cmp.Diff(want, timeline.Unmet); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if timeline.Err() == nil {
		t.Error("want what did not come true to be an error")
	}
}

// TestParse: an invalid trace is refused, with all of its problems at once.
func TestParse(t *testing.T) {
	t.Parallel()
	for trace, want := range map[string]string{
		"event: []": "unknown field",
		"events: [{at: 1m, scale: -1}, {at: 1s}]":       "events[0].scale: must be from 0 to 10000\nevents[1].at: 1s is before the event above it\nevents[1]: says nothing that happens",
		"events: [{at: 1m, expect: {}, approve: true}]": "events[0].expect: must be an event of its own",
		"readyAfter: -1s": "readyAfter: must not be negative",
		"replicas: 10001": "replicas: must be",
	} {
		if _, err := simulate.Parse([]byte(trace)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", trace, want, err)
		}
	}
}
