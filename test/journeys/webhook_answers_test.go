package journeys

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answering has the API server ask a webhook before each write of some rules. The function stored in the result answers;
// without one the webhook allows all.
func (w *world) answering(rules string) *atomic.Pointer[http.HandlerFunc] {
	w.Helper()
	answer := &atomic.Pointer[http.HandlerFunc]{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if f := answer.Load(); f != nil {
			(*f)(rw, req)
			return
		}
		verdict(nil)(rw, req)
	}))
	w.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.Cleanup(w.asksWebhook(fmt.Sprintf("{url: %q, caBundle: %s}", server.URL, base64.StdEncoding.EncodeToString(ca)), rules))
	return answer
}

// verdict denies a request with a status, or allows it if that is nil.
func verdict(status *metav1.Status) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: status == nil, Result: status}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(review)
	}
}

// denials are answers of webhooks that say no with codes by which the API server itself says something else, and answers that are none.
func denials() map[string]http.HandlerFunc {
	other := &metav1.StatusDetails{Name: "quota", Group: "", Kind: "configmaps"}
	return map[string]http.HandlerFunc{
		"404 of another object": verdict(&metav1.Status{
			Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: `configmaps "quota" not found`, Details: other,
		}),
		"409 of another object": verdict(&metav1.Status{
			Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "quota was changed", Details: other,
		}),
		"401":                 verdict(&metav1.Status{Code: http.StatusUnauthorized, Message: "no token"}),
		"429":                 verdict(&metav1.Status{Code: http.StatusTooManyRequests, Message: "too many"}),
		"no review":           func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "hello") },
		"no page":             http.NotFound,
		"a closed connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
}

// TestWebhookAnswersOddly: a denial by any code, and an answer that is no review, are reported like a refusal. The
// release goes on seconds after the webhook allows the write.
func TestWebhookAnswersOddly(t *testing.T) {
	t.Parallel()
	for name, says := range denials() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachKind(t, func(w *world, p inPlace) {
				w.startController()
				workload := p.workload(w, 4)
				p.serving(w, workload, 4)
				w.create(releaseTo(p.kind, p.template(w, "web:1", nil), step("50%"), step("100%")))
				w.await(web.completed)
				answer := w.answering(`{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}`)
				try := func() error {
					return w.Patch(w.Context(), workload.DeepCopyObject().(client.Object), mergePatch(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll)
				}
				answer.Store(&says)
				w.awaitDenial(try)
				p.next(w, "web:2")
				w.await(web.refused("", "policy.example.com"))
				w.within(goesOn, func() { answer.Store(nil) }, web.takenOver)
				w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))

				answer.Store(&says)
				w.kubectl("annotate", "batchrelease", "web", "rollback=true")
				w.await(web.refused("", "policy.example.com"))
				w.within(2*goesOn, func() { answer.Store(nil) }, web.serves("web:1", 4))
			})
		})
	}
}

// TestWebhookFailsAtWhatAReleaseNeeds: webhooks of other objects that do not answer are reported too. The release
// goes on seconds after they answer.
func TestWebhookFailsAtWhatAReleaseNeeds(t *testing.T) {
	t.Parallel()
	const rule = `{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [%s]}`
	for _, c := range []struct{ resource, kind string }{
		{"replicasets", "Deployment"},
		{"gates", "Deployment"},
		{"gates", "StatefulSet"},
		{"batchreleases/status", "Deployment"},
		{"pods", "DaemonSet"},
		{"events", "Deployment"},
	} {
		t.Run(strings.ReplaceAll(c.resource, "/", "-")+" of a "+c.kind, func(t *testing.T) {
			w, p := newWorld(t), policiedKinds()[c.kind]
			w.startController()
			p.serving(w, p.workload(w, 4), 4)
			w.create(releaseTo(p.kind, p.template(w, "web:1", nil), step("50%"), step("100%")))
			w.await(web.completed)
			p.next(w, "web:2") // so that the webhook comes where it matters to what is next
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
			w.confirm("web")
			w.await(web.completed)

			answer := w.answering(fmt.Sprintf(rule, c.resource))
			asked := make(chan struct{}, 1)
			failing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
				panic(http.ErrAbortHandler)
			})
			answer.Store(&failing)
			p.next(w, "web:3")
			select {
			case <-asked:
			case <-time.After(soon):
				t.Fatal("the webhook was not asked")
			}
			if c.resource != "events" && c.resource != "batchreleases/status" {
				w.await(web.refused("", "policy.example.com"))
			}
			w.within(goesOn, func() { answer.Store(nil) }, all(web.blocksAt(0), web.runs(pods{"web:2": 2, "web:3": 2})))
		})
	}
}
