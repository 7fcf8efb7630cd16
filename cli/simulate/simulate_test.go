package simulate_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/simulate"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/workload"
)

var update = flag.Bool("update", false, "write the golden files anew")

const deployment = "spec: {replicas: 10, strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}}"

// names are those of releases and workloads, by kind.
var names = map[string]string{"Deployment": "web", "StatefulSet": "db", "DaemonSet": "agent"}

// play simulates a release of steps, with a trace.
func play(t *testing.T, strategy, trace string) *simulate.Timeline {
	t.Helper()
	return playOn(t, "Deployment", deployment, strategy, trace)
}

// playOn simulates a release of a workload of a kind.
func playOn(t *testing.T, kind, manifest, strategy, trace string) *simulate.Timeline {
	t.Helper()
	release, of := &v1alpha1.BatchRelease{}, workload.New(kind)
	release.Name = names[kind]
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: kind, Name: names[kind]}
	if err := yaml.UnmarshalStrict([]byte(strategy), &release.Spec.Strategy); err != nil {
		t.Fatalf("read strategy: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(manifest), of.Object()); err != nil {
		t.Fatalf("read workload: %v", err)
	}
	parsed, err := simulate.Parse([]byte(trace))
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := simulate.Run(release, of.Object(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	return timeline
}

// TestHostileManifests: a workload's manifest that no API server has checked is an error where it
// can't be simulated.
func TestHostileManifests(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string]string{
		"spec: {replicas: 2147483647}":                                      "spec.replicas: must be from 0 to 10000",
		"spec: {replicas: -1}":                                              "spec.replicas: must be from 0 to 10000",
		"spec: {replicas: 3, ordinals: {start: 2147483647}}":                "spec.ordinals.start: must be from 0 to",
		"spec: {replicas: 3, ordinals: {start: -3}}":                        "spec.ordinals.start: must be from 0 to",
		"spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 'x'}}}":    "maxUnavailable of its strategy: must be a number",
		"spec: {updateStrategy: {rollingUpdate: {maxUnavailable: -2}}}":     "maxUnavailable of its strategy: must be a number",
		"spec: {updateStrategy: {rollingUpdate: {maxUnavailable: '999%'}}}": "",
	} {
		of := workload.New("StatefulSet")
		if err := yaml.UnmarshalStrict([]byte(manifest), of.Object()); err != nil {
			t.Fatal(err)
		}
		release := &v1alpha1.BatchRelease{}
		release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: "StatefulSet", Name: "db"}
		if err := yaml.UnmarshalStrict([]byte("steps: [{replicas: 1, gates: [{none: {}}]}, {replicas: 100%}]"), &release.Spec.Strategy); err != nil {
			t.Fatal(err)
		}
		switch _, err := simulate.Run(release, of.Object(), &simulate.Trace{}); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", manifest, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want an error that says %s", manifest, err, want)
		}
	}
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
		"night":    {"steps: [{replicas: 1, gates: [{soak: {duration: 1h}}, {window: {schedule: '0 9-16 * * *'}}]}, {replicas: 100%}]", "start: 2026-01-05T16:30:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, name, play(t, tc.strategy, tc.trace))
		})
	}
}

// TestGoldenOfEachKind tells whole releases of StatefulSets and DaemonSets.
func TestGoldenOfEachKind(t *testing.T) {
	t.Parallel()
	const (
		three    = "steps: [{replicas: 1, gates: [{pullRequest: {}}]}, {replicas: 50%, gates: [{soak: {duration: 10m}}]}, {replicas: 100%}]"
		ordered  = "spec: {replicas: 5}"
		parallel = "spec: {replicas: 6, podManagementPolicy: Parallel, ordinals: {start: 1}}"
		zones    = "nodes: [{count: 3, labels: {zone: b}}, {count: 3, labels: {zone: a}}]\napproveAfter: 5m"
	)
	cases := map[string]struct{ kind, manifest, strategy, trace string }{
		"ordered":    {"StatefulSet", ordered, three, "approveAfter: 5m"},
		"together":   {"StatefulSet", ordered, three + "\nmaxUnavailable: 2", "approveAfter: 5m"},
		"parallel":   {"StatefulSet", parallel, three + "\nmaxUnavailable: 2", "approveAfter: 5m"},
		"upscaled":   {"StatefulSet", ordered, three, "events: [{at: 1m, scale: 8}, {at: 2m, approve: true}, {at: 20m, scale: 4}]"},
		"undone":     {"StatefulSet", ordered, three + "\nonFailure: Rollback\nprogressDeadlineSeconds: 120", "events: [{at: 0s, broken: v2}]"},
		"nodes":      {"DaemonSet", "{}", three, "approveAfter: 5m"},
		"zones":      {"DaemonSet", "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}", three + "\norder: [{nodeLabel: {key: zone}}]", zones},
		"joined":     {"DaemonSet", "{}", three, "nodes: [{count: 4}]\nevents: [{at: 1m, scale: 6}, {at: 2m, approve: true}, {at: 20m, scale: 5}]"},
		"rolledback": {"DaemonSet", "{}", three + "\npausePoints: true", "nodes: [{count: 4}]\nevents: [{at: 1m, crash: 1}, {at: 2m, heal: 1}, {at: 3m, rollback: true}]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, name, playOn(t, tc.kind, tc.manifest, tc.strategy, tc.trace))
		})
	}
}

// checkGolden compares a timeline with its golden file.
func checkGolden(t *testing.T, name string, timeline *simulate.Timeline) {
	t.Helper()
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
	timeline = play(t, "{traffic: {routes: [{kind: HTTPRoute, name: web, service: web}]}, steps: [{replicas: 1, traffic: 5%}, {replicas: 100%}]}", `events:
- {at: 1m, expect: {requests: 5%}}
- {at: 1m, expect: {requests: 6%}}
`)
	if diff := cmp.Diff([]string{`at 1m0s: requests is "5%", not "6%"`}, timeline.Unmet); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}
}

// TestLimits: no promise is broken, whoever says how many pods may be missing.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{
		"maxSurge: 5\nsteps: [{replicas: 100%}]",
		"maxUnavailable: 50%\nsteps: [{replicas: 100%}]",
		"steps: [{replicas: 1}, {replicas: 100%, maxUnavailable: 4}]",
		"maxUnavailable: 3\nsteps: [{replicas: 5, maxUnavailable: 1}, {replicas: 100%}]",
	} {
		for kind, manifest := range map[string]string{
			"Deployment": deployment, "StatefulSet": "spec: {replicas: 10, podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}}",
			"DaemonSet": "spec: {updateStrategy: {type: OnDelete}}",
		} {
			if strings.Contains(strategy, "maxSurge") && kind != "Deployment" {
				continue // lint refuses it
			}
			timeline := playOn(t, kind, manifest, strategy, "approveAfter: 1m")
			if last := timeline.Rows[len(timeline.Rows)-1]; len(timeline.Broken) > 0 || last.New != 10 || last.Phase != "Completed" {
				t.Errorf("%s, %s: want it completed with no promise broken, got %+v, %v", kind, strategy, last, timeline.Broken)
			}
		}
	}
}

// TestStepsOwnLimit: as many pods go at once as the step allows.
func TestStepsOwnLimit(t *testing.T) {
	t.Parallel()
	timeline := playOn(t, "DaemonSet", "{}", "steps: [{replicas: 1}, {replicas: 100%, maxUnavailable: 4}]", "approveAfter: 1m")
	least := int32(10)
	for i := range timeline.Rows {
		least = min(least, timeline.Rows[i].Available)
	}
	if least != 6 {
		t.Errorf("want 4 of 10 pods replaced at once, and 6 available, got %d", least)
	}
}

// TestTraceOfAKind: events without meaning for a kind are refused.
func TestTraceOfAKind(t *testing.T) {
	t.Parallel()
	for trace, want := range map[*simulate.Trace]string{
		{Replicas: new(int32(3))}:             "use nodes",
		{Nodes: []simulate.Nodes{{Count: 3}}}: "use replicas",
	} {
		release := &v1alpha1.BatchRelease{}
		release.Spec.WorkloadRef.Kind = "DaemonSet"
		if trace.Nodes != nil {
			release.Spec.WorkloadRef.Kind = "StatefulSet"
		}
		if _, err := simulate.Run(release, nil, trace); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", release.Spec.WorkloadRef.Kind, want, err)
		}
	}
}

// TestGoldenOfTraffic tells releases that share requests.
func TestGoldenOfTraffic(t *testing.T) {
	t.Parallel()
	const (
		routes = "routes: [{kind: HTTPRoute, name: web, service: web}, {kind: Ingress, name: web, service: web}]"
		canary = "{traffic: {" + routes + "}, steps: [{replicas: 10%, traffic: 0%, matches: [{headers: [{name: x-canary, value: 'yes'}]}]}, " +
			"{replicas: 10%, traffic: 5%}, {replicas: 50%, traffic: 50%}, {replicas: 100%}]}"
		blueGreen = "{traffic: {keepOldPods: true, oldPodsDelaySeconds: 600, " + routes + "}, " +
			"steps: [{replicas: 100%, traffic: 0%}, {replicas: 100%, traffic: 50%}, {replicas: 100%, traffic: 100%}]}"
	)
	cases := map[string]struct{ strategy, trace string }{
		"canary":      {canary, "approveAfter: 1m"},
		"bluegreen":   {blueGreen, "approveAfter: 1m"},
		"turnedback":  {blueGreen, "events: [{at: 1m, approve: true}, {at: 2m, scale: 14}, {at: 3m, rollback: true}]"},
		"third":       {canary, "events: [{at: 1m, approve: true}, {at: 2m, approve: true}, {at: 3m, template: v3}]\napproveAfter: 5m"},
		"nevercoming": {canary, "events: [{at: 0s, broken: v2}, {at: 1m, rollback: true}]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeline := play(t, tc.strategy, tc.trace)
			if len(timeline.Broken) > 0 {
				t.Errorf("broken: %q", timeline.Broken)
			}
			checkGolden(t, name, timeline)
		})
	}
}

// TestForecastOfComparisons: at the traffic of a trace, a gate that compares errors passes after
// the time that it takes; one without enough errors waits.
func TestForecastOfComparisons(t *testing.T) {
	t.Parallel()
	const strategy = "steps: [{replicas: 50%, gates: [{metrics: {provider: prometheus, metrics: [{name: errors}]}}]}, {replicas: 100%}]"
	timeline := play(t, strategy, "traffic: {requestsPerSecond: 50, errors: 1}")
	last := timeline.Rows[len(timeline.Rows)-1]
	if last.Phase != "Completed" || len(timeline.Notes) != 1 || !strings.Contains(timeline.Notes[0], "web-v2-1-0-0, metric errors: at this traffic about ") {
		t.Errorf("got %s with notes %q, want a release that completes, and one forecast", last.Phase, timeline.Notes)
	}
	const routed = "steps: [{replicas: 50%, traffic: 10%, gates: [{metrics: {provider: prometheus, metrics: [{name: errors}]}}]}, {replicas: 100%}]\n" +
		"traffic: {routes: [{kind: HTTPRoute, name: web, service: web}]}"
	byRoutes := play(t, routed, "traffic: {requestsPerSecond: 50, errors: 1}")
	if note := byRoutes.Notes[len(byRoutes.Notes)-1]; note == timeline.Notes[0] || !strings.Contains(note, "metric errors: at this traffic about ") {
		t.Errorf("with a tenth of the requests: got notes %q, want another forecast than %q", byRoutes.Notes, timeline.Notes)
	}
	timeline = play(t, strategy, "traffic: {requestsPerSecond: 50, errors: 0}")
	last = timeline.Rows[len(timeline.Rows)-1]
	if last.State != "Blocking" || len(timeline.Notes) != 1 || !strings.Contains(timeline.Notes[0], "set floor") {
		t.Errorf("no errors: got %s with notes %q, want a release that waits, and what to do", last.State, timeline.Notes)
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
		"traffic: {requestsPerSecond: 0, errors: 1}":      "traffic: requestsPerSecond must be more than 0",
		"traffic: {requestsPerSecond: 1, errors: 101}":    "errors a percentage from 0 to 100",
		"nodes: [{count: 9999}, {count: -1}, {count: 9}]": "nodes[1].count: must be",
		"nodes: [{count: 9999}, {count: 2}]":              "nodes: must be from 0 to 10000",
	} {
		if _, err := simulate.Parse([]byte(trace)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", trace, want, err)
		}
	}
}
