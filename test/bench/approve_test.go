package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// standing is a release at a step.
func standing(step int32, state v1alpha1.StepState) *v1alpha1.BatchRelease {
	r := releaseNamed("web")
	r.Status.Attempt, r.Status.CurrentStepIndex, r.Status.CurrentStepState = 2, step, state
	return r
}

// confirmed makes a client of an API server that takes confirmations, and tells of each.
func confirmed(t *testing.T, told func(path, patch string)) client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patch, _ := io.ReadAll(r.Body)
		told(r.Method+" "+r.URL.Path, string(patch))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(releaseNamed("web"))
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("BatchRelease"), meta.RESTScopeNamespace)
	c, err := client.New(&clientrest.Config{Host: server.URL}, client.Options{Scheme: kube.NewScheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConfirmUntil has a release of two gates that goes on at each confirmation.
func TestConfirmUntil(t *testing.T) {
	t.Parallel()
	log := newLog()
	tell := func(r *v1alpha1.BatchRelease) { log.take(change{at: time.Now(), object: r}) }
	var requests []string
	w := &watcher{log: log, client: confirmed(t, func(path, patch string) {
		requests = append(requests, path+" "+patch)
		next := int32(len(requests))
		if next == 2 {
			done := standing(next, v1alpha1.StepCompleted)
			done.Status.Phase = v1alpha1.PhaseCompleted
			tell(done)
			return
		}
		tell(standing(next-1, v1alpha1.StepBlocking)) // the same gate again: it is confirmed already
		tell(standing(next, v1alpha1.StepUpgrade))
		tell(standing(next, v1alpha1.StepBlocking))
	})}
	tell(standing(0, v1alpha1.StepBlocking))
	if err := w.confirmUntil(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	const once = "PATCH /apis/rollouts.sluice.dev/v1alpha1/namespaces/bench/batchreleases/web/status " + confirmPatch
	if diff := cmp.Diff([]string{once, once}, requests); diff != "" {
		t.Errorf("each gate is confirmed once (-want +got):\n%s", diff)
	}
	if len(w.waits) != 2 || slices.Min(w.waits) < 0 || w.lost != 0 {
		t.Errorf("want two waits from a confirmation to what follows, none lost: got %v, %d lost", w.waits, w.lost)
	}
}

// TestLostConfirmation: a gate that stays closed for too long is confirmed again, and counted.
func TestLostConfirmation(t *testing.T) {
	t.Parallel()
	log := newLog()
	w := &watcher{
		log: log, release: "web", confirmed: place{attempt: 2}, at: time.Now().Add(-2 * confirmPatience),
		client: confirmed(t, func(string, string) {
			done := standing(1, v1alpha1.StepCompleted)
			done.Status.Phase = v1alpha1.PhaseCompleted
			log.take(change{at: time.Now(), object: done})
		}),
	}
	if err := w.confirmUntil(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if w.lost != 1 || len(w.waits) != 1 || w.waits[0] >= confirmPatience {
		t.Errorf("want one lost and one wait, from the second confirmation on: got %d, %v", w.lost, w.waits)
	}
	got := approve{}.report(w)
	want := map[string]verdict{"lost": missed}
	if diff := cmp.Diff(want, verdicts(got)); diff != "" || got.rows[0].sluice != "2" {
		t.Errorf("one of %s is lost, want 2, and that is not what is wanted (-want +got):\n%s", got.rows[0].sluice, diff)
	}
}

func TestReportOfConfirmations(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	for i := range 108 {
		w.waits = append(w.waits, time.Duration(108-i)*ms)
	}
	const want = `B0  confirmed
                                Sluice   wanted         Argo Rollouts 1.9 *
  confirmations                 108
    lost                        0        0        met   3 of 4
  until the next step, median   55 ms
    p99                         107 ms
    worst                       108 ms

`
	if diff := cmp.Diff(want, printed(t, approve{}.report(w), "B0", "confirmed")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
