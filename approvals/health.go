package approvals

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/plain"
)

// reasons of the condition ForgeReady, by what went wrong.
var reasons = map[forge.Kind]string{
	forge.Limited:       v1alpha1.ReasonForgeLimited,
	forge.Unauthorised:  v1alpha1.ReasonForgeRefused,
	forge.Forbidden:     v1alpha1.ReasonForgeRefused,
	forge.NotFound:      v1alpha1.ReasonForgeNotFound,
	forge.Misconfigured: v1alpha1.ReasonForgeInvalid,
	forge.Invalid:       v1alpha1.ReasonForgeInvalid,
}

// longestMessage of a condition, in bytes: forges say what they like.
const longestMessage = 1000

// health returns the condition ForgeReady of a source, as far as the last request shows: false
// where it shows nothing about the connection, only about the one thing that was requested.
func health(err error, proved bool) (metav1.Condition, bool) {
	condition := metav1.Condition{Type: v1alpha1.ConditionForgeReady, Status: metav1.ConditionFalse}
	paused, isPaused := errors.AsType[*pausedError](err)
	kind := forge.KindOf(err)
	switch {
	case err == nil:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonForgeConnected
		condition.Message = "the forge grants the permissions that Sluice needs"
		return condition, true
	case isPaused && !paused.lasting(), kind == "":
		return condition, false
	case proved && !isPaused && kind != forge.Unauthorised && kind != forge.Misconfigured:
		return condition, false
	}
	condition.Reason, condition.Message = v1alpha1.ReasonForgeUnreachable, plain.UpTo(plain.Line(err.Error()), longestMessage)
	if reason, known := reasons[kind]; known {
		condition.Reason = reason
	}
	return condition, true
}

// prove checks that the forge accepts the client and knows the repository. Later requests need the
// answers to both.
func prove(ctx context.Context, api forge.Client) error {
	if _, err := api.Self(ctx); err != nil {
		return err
	}
	_, err := api.Repository(ctx)
	return err
}

// publish writes the condition of a source where it has changed.
func (c *connections) publish(ctx context.Context, con *connection, generation int64, err error) error {
	condition, tells := health(err, con.proved())
	if con.isBehind() && (err == nil || isOwn(err)) {
		condition.Status, condition.Reason, tells = metav1.ConditionTrue, v1alpha1.ReasonForgeBehind, true
		condition.Message = "statuses wait, as the requests that the forge allows are nearly used up; approvals come first"
	}
	condition.ObservedGeneration = generation
	if !tells || con.told(condition) {
		return nil
	}
	source := &v1alpha1.ReleaseSource{}
	switch err := c.live.Get(ctx, con.source, source); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read ReleaseSource: %w", err)
	}
	_, outcome := kube.ChangeStatus(ctx, c.writer, c.live, source, func(source *v1alpha1.ReleaseSource) {
		meta.SetStatusCondition(&source.Status.Conditions, condition)
	})
	if _, gone := outcome.(kube.Gone); !gone && kube.Err(outcome) != nil {
		return fmt.Errorf("write condition of source: %w", kube.Err(outcome))
	}
	con.remember(condition)
	return nil
}

// isBehind reports whether reports wait for the forge to allow more.
func (c *connection) isBehind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits() > 0
}

// isOwn reports whether a request waits although the forge would take it.
func isOwn(err error) bool {
	limited, is := errors.AsType[*forge.LimitedError](err)
	return is && limited.Own
}

// told reports whether the condition was written before.
func (c *connection) told(condition metav1.Condition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.condition == condition
}

func (c *connection) remember(condition metav1.Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.condition = condition
}

// proved reports whether the present client has been let in once.
func (c *connection) proved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.letIn
}

// current reports whether what is known of the connection is about the source as it is now.
func (c *connection) current(source *v1alpha1.ReleaseSource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.letIn && c.condition.ObservedGeneration == source.Generation
}
