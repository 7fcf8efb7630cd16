package handback

import (
	"context"
	"encoding/json"
	"fmt"

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

// write gives a Deployment back. Where that is forbidden, the same write sets the break-glass annotation, for which the admission
// policy lets it through, and the next removes it. Whether that policy refuses is only in the words of the answer, which nothing
// depends on: whoever else refuses the first write refuses the second too.
func (c *Command) write(ctx context.Context, d *appsv1.Deployment, held v1alpha1.HeldWorkload, template json.RawMessage) error {
	err := c.patch(ctx, d, hold.HandBack(d, held, template))
	if !apierrors.IsForbidden(err) {
		return err
	}
	broken := hold.HandBack(d, held, template).Set(kube.AnnotationPath(v1alpha1.BreakGlassAnnotation), glassReason)
	switch again := c.patch(ctx, d, broken); {
	case apierrors.IsForbidden(again):
		return err
	case again != nil || c.options.DryRun:
		return again
	}
	return c.mendGlass(ctx, d)
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
