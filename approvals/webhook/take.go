package webhook

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

// take handles a request to a source's path.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request) answer {
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return unsupported
	}
	if req.ContentLength > maxBody {
		return tooLarge
	}
	select {
	case r.bodies <- struct{}{}:
		defer func() { <-r.bodies }()
	default:
		return busy
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge
	}
	if err != nil {
		return unreadable
	}
	ctx, cancel := context.WithTimeout(req.Context(), handlingTimeout)
	defer cancel()
	return r.judge(ctx, delivery{
		source:    client.ObjectKey{Namespace: req.PathValue("namespace"), Name: req.PathValue("source")},
		event:     req.Header.Get(github.EventHeader),
		guid:      req.Header.Get(github.DeliveryHeader),
		signature: req.Header.Get(github.SignatureHeader),
		body:      body,
	})
}

// judge lets through what is signed, and what was not there before.
func (r *Receiver) judge(ctx context.Context, d delivery) answer {
	source, err := r.signer(ctx, d)
	switch {
	case err != nil:
		r.complain(err, "Cannot check the signature of a webhook", d)
		return unavailable
	case source == nil:
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

// signer is the source that a webhook is for; nil if it is not signed with a secret of it. A cache that lacks the
// source, for whatever reason, has none: caches that are limited to namespaces return errors for the others.
func (r *Receiver) signer(ctx context.Context, d delivery) (*v1alpha1.ReleaseSource, error) {
	source := &v1alpha1.ReleaseSource{}
	secret := client.ObjectKey{}
	if err := r.cached.Get(ctx, d.source, source); err == nil && source.Spec.WebhookSecretRef != nil {
		secret = client.ObjectKey{Namespace: source.Namespace, Name: source.Spec.WebhookSecretRef.Name}
	}
	signed, err := r.secrets.signed(ctx, secret, d)
	if err != nil || !signed {
		return nil, err
	}
	return source, nil
}

// follow requests a look at the objects that a signed webhook is about.
func (r *Receiver) follow(ctx context.Context, source *v1alpha1.ReleaseSource, d delivery) answer {
	event, err := github.ParseEvent(d.event, d.body)
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
	for _, object := range objects {
		err = errors.Join(err, r.hint(ctx, object))
	}
	switch {
	case err != nil:
		r.options.Logger.Error(err, "Cannot pass on a webhook", "source", d.source, "event", d.event, "delivery", d.guid)
		return failed
	case len(objects) == 0:
		return ignored
	}
	r.options.Logger.V(1).Info("Passed on a webhook", "source", d.source, "event", d.event, "delivery", d.guid, "objects", len(objects))
	return accepted
}

// complain logs what went wrong with a request that anybody may have sent.
func (r *Receiver) complain(err error, message string, d delivery) {
	r.complaints.Do(func() {
		r.options.Logger.Info(message, "source", d.source, "event", github.KindOfEvent(d.event), "error", err)
	})
}
