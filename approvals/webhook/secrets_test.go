package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/approvals/webhook"
)

func (w *world) signed(with string) hook {
	h := w.hook("ping", `{"n":"`+time.Duration(w.guids).String()+`"}`)
	h.secret = with
	return h
}

// TestRotation: no webhook is refused while the secret changes by way of secret.next, whoever
// changes first.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	w.want(w.signed(secret), http.StatusAccepted, "")
	w.secret("hook", map[string]string{"secret": secret, "secret.next": "new\n"})
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	w.want(w.signed(secret), http.StatusAccepted, "")
	w.want(w.signed("new"), http.StatusAccepted, "")
	w.want(w.signed(secret), http.StatusAccepted, "")

	// The old one is taken away, and soon good for nothing.
	w.secret("hook", map[string]string{"secret": "new"})
	w.want(w.signed("new"), http.StatusAccepted, "")
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.want(w.signed(secret), http.StatusUnauthorized, "")
	w.want(w.signed("new"), http.StatusAccepted, "")
}

// TestSecretReplaced: a secret that is replaced at once is read as soon as something is signed with
// it.
func TestSecretReplaced(t *testing.T) {
	w := newWorld(t)
	w.want(w.signed(secret), http.StatusAccepted, "")
	w.secret("hook", map[string]string{"secret.next": "another"})
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	w.requests.take()
	w.want(w.signed("another"), http.StatusAccepted, "")
	w.want(w.signed("another"), http.StatusAccepted, "")
	if reads := w.requests.take(); len(reads) != 1 {
		t.Errorf("asked %v, want the secret read once", reads)
	}
	w.want(w.signed(secret), http.StatusUnauthorized, "")
}

// blind is a reader that sometimes gets no answer.
type blind struct {
	client.Reader
	fails bool
	reads int
}

func (b *blind) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if b.reads++; b.fails {
		return errors.New("no answer")
	}
	return b.Reader.Get(ctx, key, object, options...)
}

func TestSecretThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	reader := &blind{Reader: w.live, fails: true}
	w.receiver = webhook.New(w.cached, reader, webhook.Options{Clock: w.clock})
	for range 5 {
		w.want(w.signed(secret), http.StatusServiceUnavailable, "can't be checked")
	}
	if reader.reads != 1 {
		t.Errorf("the secret was asked for %d times at once", reader.reads)
	}
	reader.fails = false
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	w.want(w.signed(secret), http.StatusAccepted, "")

	// What was read stays good until the API server answers.
	reader.fails = true
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.want(w.signed(secret), http.StatusAccepted, "")
	w.want(w.signed("guessed"), http.StatusUnauthorized, "")
}
