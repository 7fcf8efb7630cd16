package handback

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// glassReason is the break-glass reason that the command gives. By it the command knows its own
// annotation, which it removes again, from that of somebody else.
const glassReason = "sluice handback"

// write gives a workload back. Where that is forbidden, the same write sets the break-glass
// annotation, for which the admission policy lets it through, and the next removes it. An answer
// does not say which policy refuses: any other policy refuses the second write too.
func (c *Command) write(ctx context.Context, w workload.Workload, held v1alpha1.HeldWorkload, template json.RawMessage) error {
	digest, err := left(w, template)
	if err != nil {
		return err
	}
	if hold.Follower(w) == "" {
		if _, err = c.patch(ctx, w, hold.HandBack(w, held, template), digest); !apierrors.IsForbidden(err) {
			return err
		}
	} // else the policy would keep the workload as it is, and refuse nothing
	broken := hold.Unfollow(hold.HandBack(w, held, template), w).Set(jsonpatch.AnnotationPath(v1alpha1.BreakGlassAnnotation), glassReason)
	switch written, again := c.patch(ctx, w, broken, digest); {
	case apierrors.IsForbidden(again):
		return cmp.Or(err, again)
	case again != nil || c.options.DryRun:
		return again
	default:
		return c.mendGlass(ctx, written)
	}
}

// left returns the digest of the template that a write is to leave a workload with.
func left(w workload.Workload, template json.RawMessage) (string, error) {
	if template == nil {
		return digestOf(w.PodTemplate()), nil
	}
	var decoded corev1.PodTemplateSpec
	if err := json.Unmarshal(template, &decoded); err != nil {
		return "", fmt.Errorf("read pod template: %w", err)
	}
	return digestOf(&decoded), nil
}

// errRewritten says that no controller holds the pods back from what comes of a write.
var errRewritten = errors.New("a mutating admission webhook or policy changes spec.template, and the native controller would replace all pods with the " +
	"result: undo what it does (kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations), or exclude the namespace from it, and try again")

// patch writes a patch of a workload, and returns the answer. A dry run first compares the digest
// of its template.
func (c *Command) patch(ctx context.Context, w workload.Workload, changes *jsonpatch.Patch, digest string) (workload.Workload, error) {
	patch, err := kube.PatchOf(changes)
	if err != nil {
		return nil, err
	}
	var written workload.Workload
	for _, options := range [][]client.PatchOption{{client.DryRunAll}, nil} {
		written = workload.New(w.Kind())
		written.SetNamespace(w.GetNamespace())
		written.SetName(w.GetName())
		options = append(options, client.FieldValidation(metav1.FieldValidationStrict))
		if err := c.client.Patch(ctx, written.Object(), patch, options...); err != nil {
			return nil, fmt.Errorf("patch %s: %w", w.Kind(), err)
		}
		if digestOf(written.PodTemplate()) != digest {
			return nil, errRewritten
		}
	}
	return written, nil
}

// glassIsOurs reports whether a run that did not complete has left its break-glass annotation.
func glassIsOurs(w metav1.Object) bool {
	return w.GetAnnotations()[v1alpha1.BreakGlassAnnotation] == glassReason
}

// mendGlass takes our annotation away from a workload that nobody holds any more.
func (c *Command) mendGlass(ctx context.Context, w workload.Workload) error {
	if !glassIsOurs(w) {
		return nil
	}
	path := jsonpatch.AnnotationPath(v1alpha1.BreakGlassAnnotation)
	removal := new(jsonpatch.Patch).Test("/metadata/uid", w.GetUID()).Test(path, glassReason).Remove(path)
	_, err := c.patch(ctx, w, removal, digestOf(w.PodTemplate()))
	return err
}
