package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// TestUpstream seeds a repository on a forge, pushes a change and fetches it, all of it through
// the address that counts.
func TestUpstream(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	forge, err := devforge.Start(ctx, devforge.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forge.Close() })
	up, server, err := follow{manifests: 13}.seed(ctx, forge, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)

	seeded := readManifests(t, up.work.dir)
	if seeded.Files != 13 || len(seeded.Errors) > 0 {
		t.Errorf("a clone must have all 13 files and no mistake: got %d, %v", seeded.Files, seeded.Errors)
	}
	const changed = "team-000/app-00000.yaml"
	commit, err := up.work.push(ctx, changed, deploymentManifest(appName(0), 2))
	if err != nil {
		t.Fatal(err)
	}
	before := up.requests.Load()
	if _, err := up.mirror.git(ctx, "fetch", "--quiet", "--depth=1", "origin", "+"+branch+":"+branch); err != nil {
		t.Fatal(err)
	}
	if up.requests.Load() == before {
		t.Error("what Git asks for must be counted: want more requests after a fetch, got none")
	}
	if got, err := up.mirror.git(ctx, "rev-parse", branch); err != nil || got != commit {
		t.Errorf("a fetch must bring the commit that was pushed: want %s, got %s (%v)", commit, got, err)
	}
	if got, err := up.mirror.git(ctx, "show", branch+":"+changed); err != nil || !strings.Contains(got, image(2)) {
		t.Errorf("and the change: want %s, got %s (%v)", image(2), got, err)
	}
}

func TestGitErrorsSayWhatGitSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := gitClone(t.Context(), filepath.Join(dir, "none"), filepath.Join(dir, "work"))
	if err == nil || !strings.Contains(err.Error(), "run git clone") || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("want what was run and git's own words, got %v", err)
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	source := sourceNamed()
	source.Status.LastHandledSyncAt = "poll-1"
	if !answered("poll-1")(source) || answered("poll-2")(source) || answered("poll-1")(&v1alpha1.BatchRelease{}) {
		t.Error("a source has answered what it names as handled last, and nothing else has")
	}
}

// TestReportOfFollowing has three syncs of either kind. A change may take twice what git fetch
// takes, and what a poll takes on top.
func TestReportOfFollowing(t *testing.T) {
	t.Parallel()
	s := followSample{
		releases: 909, files: 10_000, first: 20 * time.Second,
		polls: []exchange{{took: 60 * ms, requests: 1}, {took: 70 * ms, requests: 1}, {took: 65 * ms, requests: 2}},
		changes: []exchange{
			{took: 500 * ms, requests: 2, git: 80 * ms}, {took: 245 * ms, requests: 3, git: 90 * ms}, {took: 100 * ms, requests: 2, git: 95 * ms},
		},
		usage: usage{cpu: 7 * time.Second, peak: 200 << 20},
	}
	f := follow{memory: 200 << 20}
	const want = `B0  following
                                                  Sluice    wanted
  first sync: 10000 files, 909 releases created   20.0 s
  poll with nothing new, requests to Git          2         1                       MISSED
    until it is answered (the constant)           65 ms
  change of one file, until it is applied         245 ms    <= 245 ms               met
    git fetch --depth 1 of the same               90 ms     2 of these + constant
    requests to Git                               3
  controller memory, peak                         200 MiB   < 200 MiB               MISSED
  controller CPU, total                           7.00 s

`
	if diff := cmp.Diff(want, printed(t, f.report(s), "B0", "following")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	s.polls[2].requests, s.peak, s.changes[1].took = 1, f.memory-1, 246*ms
	atLimits := map[string]verdict{
		"poll with nothing new, requests to Git": met, "controller memory, peak": met, "change of one file, until it is applied": missed,
	}
	if diff := cmp.Diff(atLimits, verdicts(f.report(s))); diff != "" {
		t.Errorf("verdicts right at the limits (-want +got):\n%s", diff)
	}
}
