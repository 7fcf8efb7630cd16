package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// fitMemory is how long the result of a preflight is reused: a little less than the plan
// waits before it asks again. Passes that other changes cause in between cost nothing.
const fitMemory = 50 * time.Second

// knownFit holds the findings for a release, and when they were made.
type knownFit struct {
	shape plan.Shape
	given string
	at    time.Time
	found *preflight.Findings
}

// readPreflight lists what in the namespace can limit a release. These objects are in no cache:
// they are requested once in a release, and a watch would cost memory all the time.
func (r *observer) readPreflight(ctx context.Context, v *view, shape plan.Shape) error {
	if known := v.process.fits; known.found != nil && known.shape == shape && known.given == v.given &&
		r.clock.Since(known.at) < fitMemory {
		v.facts.Preflight = known.found
		return nil
	}
	release := preflight.Release{
		Kind: v.workload.Kind(), Workload: v.workload.GetName(), Replicas: shape.Replicas, Surge: shape.Surge, Unavailable: shape.Unavailable,
		NewSet: shape.NewVersion, BreakGlass: strings.TrimSpace(v.workload.GetAnnotations()[v1alpha1.BreakGlassAnnotation]), Shared: shape.Shared,
	}
	var err error
	if release.Released, err = r.decodedTemplate(ctx, v, shape.Template); err != nil {
		return err
	}
	found, kept, err := r.check(ctx, v, release, r.snapshots.of)
	if err == nil && kept && found.Fails() { // somebody may have raised a quota a moment ago
		found, _, err = r.check(ctx, v, release, r.snapshots.again)
	}
	if err != nil {
		return err
	}
	v.process.fits = knownFit{shape, v.given, r.clock.Now(), &found}
	v.facts.Preflight = &found
	return nil
}

// check compares what is about to begin with what its namespace has, and reports whether that is
// kept from a moment ago.
func (r *observer) check(
	ctx context.Context, v *view, release preflight.Release, read func(context.Context, string) (surveyed, error),
) (preflight.Findings, bool, error) {
	namespace, err := read(ctx, v.release.Namespace)
	if err != nil {
		return preflight.Findings{}, false, err
	}
	if release.Running, err = r.runningTemplate(ctx, v, len(namespace.found.Quotas) > 0 || preflight.FollowsNodes(release.Kind)); err != nil {
		return preflight.Findings{}, false, err
	}
	found := preflight.Check(release, namespace.found)
	found.Warnings = append(found.Warnings, namespace.unknown...)
	return found, namespace.kept, nil
}

// decodedTemplate returns a template that is about to be released. The API server's defaults don't
// matter for what a quota counts.
func (r *observer) decodedTemplate(ctx context.Context, v *view, t plan.Template) (*corev1.PodTemplateSpec, error) {
	raw, err := r.history.template(ctx, v, t)
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &template); err != nil {
		return nil, fmt.Errorf("decode template: %w", err)
	}
	return &template, nil
}

// runningTemplate returns that of the workload, as the cache has it unless it is needed whole.
func (r *cluster) runningTemplate(ctx context.Context, v *view, whole bool) (*corev1.PodTemplateSpec, error) {
	if whole && isStripped(v.workload.PodTemplate()) {
		if err := r.readWorkload(ctx, v); err != nil {
			return nil, err
		}
		if v.workload == nil {
			return nil, errOutdated
		}
	}
	return v.workload.PodTemplate(), nil
}
