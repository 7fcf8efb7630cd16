package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/webhook"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// cluster stands for the API server where a fuzzer asks it thousands of times a second: one source,
// one secret.
type cluster struct {
	client.Client
	patched int
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch object := object.(type) {
	case *v1alpha1.ReleaseSource:
		if key.Name == "shop" && (key.Namespace == "lab" || key.Namespace == "other") {
			object.Namespace, object.Name = key.Namespace, key.Name
			object.Spec.Forge = &v1alpha1.Forge{Owner: "Codertocat", Repo: "Hello-World"}
			object.Spec.WebhookSecretRef = &v1alpha1.LocalReference{Name: "hook"}
			return nil
		}
	case *corev1.Secret:
		object.Data = map[string][]byte{"secret": []byte(secret)}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c *cluster) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (c *cluster) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	c.patched++
	return nil
}

// FuzzServeHTTP: every request is answered, and does nothing unless it is signed.
func FuzzServeHTTP(f *testing.F) {
	for _, event := range []string{"push", "pull_request", "pull_request_review", "status", "check_run", "check_suite", "ping"} {
		for _, example := range forgetest.Examples(f, event) {
			f.Add("/hooks/lab/shop", event, "application/json", "1", []byte(example), "", true)
		}
	}
	f.Add("/hooks/lab/shop", "push", "application/json", "1", []byte(push("main")), "sha256=00", false)
	f.Add("/hooks/lab/other", "push", "text/plain", "", []byte("{"), "sha1=", false)
	f.Fuzz(func(t *testing.T, path, event, media, guid string, body []byte, signature string, genuine bool) {
		c := &cluster{}
		w := &world{T: t, receiver: webhook.New(c, c, webhook.Options{})}
		got := w.send(hook{path: "/", event: event, guid: guid, secret: secret, body: body, change: func(r *http.Request) {
			r.URL.Path = path
			r.Header.Set("Content-Type", media)
			if !genuine {
				r.Header.Set("X-Hub-Signature-256", signature)
			}
		}})
		signed := genuine || signature == sign(body, secret)
		if got.Code >= 500 || c.patched > 0 && got.Code != http.StatusAccepted {
			t.Errorf("got %d after %d patches", got.Code, c.patched)
		}
		if !signed && (got.Code < 300 || c.patched > 0) {
			t.Errorf("what is not signed got %d and %d patches", got.Code, c.patched)
		}
	})
}

// BenchmarkForged: the work that a request without the secret costs.
func BenchmarkForged(b *testing.B) {
	c := &cluster{}
	receiver := webhook.New(c, c, webhook.Options{})
	for name, size := range map[string]int{"20KiB": 20 << 10, "5MiB": 5 << 20} {
		b.Run(name, func(b *testing.B) {
			h := hook{path: "/hooks/lab/shop", event: "push", secret: "guessed", body: make([]byte, size)}
			n := 0
			h.change = func(r *http.Request) { // each from another address, else most are turned away
				n++
				r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", n>>16&0xff, n>>8&0xff, n&0xff)
			}
			for b.Loop() {
				b.StopTimer()
				req, recorder := h.request(), httptest.NewRecorder()
				b.StartTimer()
				if receiver.ServeHTTP(recorder, req); recorder.Code != http.StatusUnauthorized {
					b.Fatalf("got %d", recorder.Code)
				}
			}
		})
	}
}
