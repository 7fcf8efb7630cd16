package journeys

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// goesOn is how long after the end of an outage a write may come at the latest.
const goesOn = 15 * time.Second

// noAnswer has the API server ask a webhook that does not answer before each write to workloads of
// the namespace, and to pods that are deleted, until the function that it returns is called.
func (w *world) noAnswer(try func() error) (end func()) {
	w.Helper()
	return w.noAnswerFor(`{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
  - {apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [pods]}`, try)
}

// noAnswerFor does so before the writes of some rules.
func (w *world) noAnswerFor(rules string, try func() error) (end func()) {
	w.Helper()
	remove := w.asksWebhook(`{url: "https://127.0.0.1:9/validate"}`, rules)
	end = sync.OnceFunc(func() {
		remove()
		w.awaitRule(try)
	})
	w.Cleanup(end)
	w.awaitDenial(try)
	return end
}

// asksWebhook has the API server ask a webhook before each write of some rules in the namespace.
// The function that it returns removes the webhook.
func (w *world) asksWebhook(clientConfig, rules string) (remove func()) {
	w.Helper()
	name := w.namespace + "-webhook"
	w.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: policy.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 5
  clientConfig: %[3]s
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
  rules:
  - %[4]s
`, name, w.namespace, clientConfig, rules))
	return func() {
		out, err := cptest.Access(w).Kubectl(context.Background(), "delete", "validatingwebhookconfiguration", name).CombinedOutput()
		if err != nil {
			w.Errorf("delete the webhook: %v: %s", err, out)
		}
	}
}

// awaitDenial waits until the webhook is asked, and a write fails by it.
func (w *world) awaitDenial(try func() error) {
	w.Helper()
	w.awaitRule(func() error {
		if err := try(); err == nil || !strings.Contains(err.Error(), "policy.example.com") {
			return errors.Join(errors.New("want a write that the webhook stops"), err)
		}
		return nil
	})
}

// writeTimes records when a controller's writes were done.
type writeTimes struct {
	// failed has the writes that failed and were not done since, by method and path.
	failed map[string]bool
	// done has the time of each write, again that of each write that had failed before.
	done, again []time.Time
}

// noteOutage notes whether a write failed or was done.
func (c *controller) noteOutage(request *http.Request, response *http.Response, err error) {
	if request.Method == http.MethodGet || strings.Contains(request.URL.Path, "/events") || strings.Contains(request.URL.Path, "/leases") {
		return
	}
	write, now := request.Method+" "+request.URL.Path, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.written
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		if o.failed == nil {
			o.failed = map[string]bool{}
		}
		o.failed[write] = true
		return
	}
	o.done = append(o.done, now)
	if o.failed[write] {
		o.again = append(o.again, now)
		delete(o.failed, write)
	}
}

// within ends an outage, after which the first write is to be done soon, and awaits the scene that
// comes of it. How long the pods take is no matter.
func (w *world) within(limit time.Duration, end func(), done check) {
	w.Helper()
	await, before := w.fromNow(), time.Now()
	end()
	began := time.Now()
	await(done)
	took := time.Since(began)
	for _, c := range w.controllers {
		if at := c.goesOnAfter(before); !at.IsZero() {
			took = min(took, at.Sub(began))
		}
	}
	if took > limit {
		w.Errorf("it went on %s after the outage, want at most %s", took.Round(time.Second), limit)
	}
}

// goesOnAfter returns when the first write was done that had failed, or the first of all if none
// had.
func (c *controller) goesOnAfter(before time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range slices.Concat(c.written.again, c.written.done) {
		if at.After(before) {
			return at
		}
	}
	return time.Time{}
}

// TestWebhookDoesNotAnswer: a write that the API server can't decide on, since a webhook does not
// answer, is told as one that is refused: with who does not answer. An approval is not asked for
// again, a rollback says why it does not move, and the release goes on seconds after the end of it.
func TestWebhookDoesNotAnswer(t *testing.T) {
	onKinds(t, []string{"Deployment", "DaemonSet"}, webhookDoesNotAnswer)
}

func webhookDoesNotAnswer(w *world, p workloadKind) {
	workload, _ := p.adopted(w, step("50%"), step("75%"), step("100%"))
	probe := func() error {
		live := workload.DeepCopyObject().(client.Object)
		return w.Patch(w.Context(), live, mergePatch(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll)
	}
	end := w.noAnswer(probe)
	p.next(w, "web:2")
	w.await(web.refused("try", "policy.example.com"))
	w.awaitEvent(v1alpha1.ReasonWriteRefused, "policy.example.com")
	w.within(goesOn, end, web.takenOver)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))

	if p.kind != "Deployment" { // whose pods come with its ReplicaSets
		end = w.noAnswer(probe)
		w.confirm("web")
		s := w.await(web.refused("", "policy.example.com"))
		if status := s.releases["web"].Status; status.CurrentStepIndex != 1 || status.CurrentStepState != v1alpha1.StepUpgrade {
			w.Errorf("it stands in step %d %s: the approval is to be asked for once", status.CurrentStepIndex, status.CurrentStepState)
		}
		end()
		w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 1, "web:2": 3})))
	}

	end = w.noAnswer(probe)
	w.kubectl("annotate", "batchrelease", "web", "rollback=true")
	w.await(all(web.refused("", "policy.example.com"), web.phase(v1alpha1.PhaseRollingBack)))
	w.within(goesOn+10*time.Second, end, all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 4)))
}

// TestGateThatCanNotBeWritten: the release reports a Gate write that a policy refuses or a webhook
// leaves unanswered. The approval counts as soon as the Gate can be written.
func TestGateThatCanNotBeWritten(t *testing.T) {
	rules := map[string]struct {
		rule func(w *world, try func() error) (end func())
		says string
	}{
		"Refused": {func(w *world, try func() error) func() { return w.denied("gates/status", "UPDATE", "false", try) }, "the API server refuses to write gate "},
		"Unanswered": {func(w *world, try func() error) func() {
			return w.noAnswerFor(`{apiGroups: [rollouts.sluice.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [gates/status]}`, try)
		}, "the API server can't decide whether to write gate "},
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			w.create(release("web:2", step(1), step("100%")))
			s := w.await(web.blocksAt(0))
			gate := s.releases["web"].Status.Gates[0].Name
			end := rule.rule(w, func() error {
				live := &v1alpha1.Gate{}
				live.Namespace, live.Name = w.namespace, gate
				return w.Status().Patch(w.Context(), live, mergePatch(`{"status":{"message":"probe"}}`), client.DryRunAll)
			})
			w.confirm("web")
			w.awaitEvent(v1alpha1.ReasonWriteRefused, rule.says+gate)
			w.within(goesOn, end, all(web.completed, web.serves("web:2", 4)))
		})
	}
}
