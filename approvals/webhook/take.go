package webhook

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/webhooks"
	"github.com/sluice-dev/sluice/internal/remote"
)

// take handles a request to a source's path. A request that nothing can have signed takes no
// memory: it is refused by its headers or, where there is no such source, read and forgotten, so
// that the answer does not tell which sources there are.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request) answer {
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return unsupported
	}
	if req.ContentLength > maxBody {
		return tooLarge
	}
	announced, provable := webhooks.Of(req.Header)
	if !provable {
		return unauthorized
	}
	d := delivery{Delivery: announced, source: client.ObjectKey{Namespace: req.PathValue("namespace"), Name: req.PathValue("source")}}
	// A test's recorder has no deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	ctx, cancel := context.WithTimeout(req.Context(), bodyTimeout+handlingTimeout)
	defer cancel()
	body := http.MaxBytesReader(w, req.Body, maxBody)
	source, secret := r.sourceOf(ctx, d)
	if source == nil {
		if err := r.secrets.forget(body); err != nil {
			return unread(err)
		}
		r.complain(nil, "Refused a webhook: no secret of a source has signed it", d)
		return unauthorized
	}
	read, free, err := r.places.read(body, remote.Client(req, r.options.TrustedProxies), d.source)
	defer free()
	if err != nil {
		return unread(err)
	}
	d.body = read
	return r.judge(ctx, source, secret, d)
}

// unread returns the answer to a body that could not be read.
func unread(err error) answer {
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, errNoRoom):
		return busy
	case large:
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return slow
	}
	return unreadable
}

// judge lets through what is signed, and what was not there before.
func (r *Receiver) judge(ctx context.Context, source *v1alpha1.ReleaseSource, secret client.ObjectKey, d delivery) answer {
	signed, err := r.secrets.signed(ctx, secret, d)
	switch {
	case err != nil:
		r.complain(err, "Cannot check the signature of a webhook", d)
		return unavailable
	case !signed:
		r.complain(nil, "Refused a webhook: no secret of a source has signed it", d)
		return unauthorized
	case !r.deliveries.begin(d):
		return repeated
	}
	taken := false
	defer func() {
		if !taken { // so that the forge can send it again
			r.deliveries.forget(d)
		}
	}()
	a := r.follow(ctx, source, d)
	taken = a.status == http.StatusAccepted
	return a
}

// sourceOf returns the source that a webhook is for, with the name of its Secret; nil if there is
// none that takes any, or one whose forge sends others. A cache that lacks the source, for whatever
// reason, has none: caches that are limited to namespaces return errors for the others.
func (r *Receiver) sourceOf(ctx context.Context, d delivery) (*v1alpha1.ReleaseSource, client.ObjectKey) {
	source := &v1alpha1.ReleaseSource{}
	if err := r.cached.Get(ctx, d.source, source); err != nil || source.Spec.WebhookSecretRef == nil {
		return nil, client.ObjectKey{}
	}
	if source.Spec.Forge != nil && !d.From(cmp.Or(forge.Type(source.Spec.Forge.Type), forge.TypeGitHub)) {
		return nil, client.ObjectKey{}
	}
	return source, client.ObjectKey{Namespace: source.Namespace, Name: source.Spec.WebhookSecretRef.Name}
}

// follow requests a look at the objects that a signed webhook is about.
func (r *Receiver) follow(ctx context.Context, source *v1alpha1.ReleaseSource, d delivery) answer {
	event, err := d.Parse(d.body)
	switch {
	case err != nil:
		r.complain(err, "Cannot read a webhook", d)
		return malformed
	case event.Kind == forge.EventPing:
		return accepted
	case event.Kind == forge.EventOther:
		return ignored
	case !isOf(source, event.Repository.FullName):
		r.complain(nil, "Ignored a webhook of another repository: "+event.Repository.FullName, d)
		return elsewhere
	}
	objects, err := r.concerned(ctx, source, event)
	if len(objects) > 0 && !r.namespaces.Allow(source.Namespace, r.options.Clock.Now()) {
		return limited
	}
	for _, object := range objects {
		err = errors.Join(err, r.hint(ctx, object))
	}
	switch {
	case err != nil:
		r.options.Logger.Error(err, "Cannot pass on a webhook", "source", d.source, "event", d.Event, "delivery", d.ID)
		return failed
	case len(objects) == 0:
		return ignored
	}
	r.options.Logger.V(1).Info("Passed on a webhook", "source", d.source, "event", d.Event, "delivery", d.ID, "objects", len(objects))
	return accepted
}

// complain logs what went wrong with a request that anybody may have sent.
func (r *Receiver) complain(err error, message string, d delivery) {
	r.complaints.Do(func() {
		r.options.Logger.Info(message, "source", d.source, "event", d.Kind(), "error", err)
	})
}
