package handback

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// glassReason is the break-glass reason that the command gives. By it the command knows its own
// annotation, which it removes again, from that of somebody else.
const glassReason = "sluice handback"

// write gives a Deployment back. Where the admission policy minds, the same write sets the break-glass
// annotation, and the next removes it.
func (c *Command) write(ctx context.Context, d *appsv1.Deployment, held v1alpha1.HeldWorkload, template json.RawMessage) error {
	err := c.patch(ctx, d, hold.HandBack(d, held, template))
	if !asksForReason(err) {
		return err
	}
	broken := hold.HandBack(d, held, template).Set(kube.AnnotationPath(v1alpha1.BreakGlassAnnotation), glassReason)
	if err := c.patch(ctx, d, broken); err != nil || c.options.DryRun {
		return err
	}
	return c.mendGlass(ctx, d)
}

// asksForReason reports whether the policy refuses a write: its message names the annotation.
func asksForReason(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), v1alpha1.BreakGlassAnnotation)
}

// patch writes a patch of a Deployment, and reads the answer into it.
func (c *Command) patch(ctx context.Context, d *appsv1.Deployment, changes *kube.JSONPatch) error {
	patch, err := changes.Patch()
	if err != nil {
		return err
	}
	written := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	if err := c.client.Patch(ctx, written, patch, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return fmt.Errorf("patch Deployment: %w", err)
	}
	written.DeepCopyInto(d)
	return nil
}

// glassIsOurs reports whether a run that did not complete has left its break-glass annotation.
func glassIsOurs(d *appsv1.Deployment) bool {
	return d.Annotations[v1alpha1.BreakGlassAnnotation] == glassReason
}

// mendGlass takes our annotation away from a Deployment that nobody holds any more.
func (c *Command) mendGlass(ctx context.Context, d *appsv1.Deployment) error {
	if !glassIsOurs(d) {
		return nil
	}
	path := kube.AnnotationPath(v1alpha1.BreakGlassAnnotation)
	removal := new(kube.JSONPatch).Test("/metadata/uid", d.UID).Test(path, glassReason).Remove(path)
	return c.patch(ctx, d, removal)
}
