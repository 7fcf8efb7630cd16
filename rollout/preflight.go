package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// fitMemory is how long what a preflight has found is taken for granted: a little less than the plan
// waits before it asks again. What other changes bring passes about in between costs nothing.
const fitMemory = 50 * time.Second

// knownFit is what was found for a release, and when.
type knownFit struct {
	shape plan.Shape
	given string
	at    time.Time
	found *preflight.Findings
}

// readPreflight lists what in the namespace has a say in a release. These objects are in no cache: they
// are asked for once in a release, and a watch would cost memory all the time.
func (r *Reconciler) readPreflight(ctx context.Context, v *view, shape plan.Shape) error {
	if known := v.memory.fits; known.found != nil && known.shape == shape && known.given == v.given &&
		r.clock.Since(known.at) < fitMemory {
		v.fits = known.found
		return nil
	}
	release := preflight.Release{
		Workload: v.deployment.Name, Replicas: shape.Replicas, Surge: shape.Surge, Unavailable: shape.Unavailable,
		NewSet: shape.NewSet,
	}
	namespace, unknown, err := r.readNamespace(ctx, v)
	if err != nil {
		return err
	}
	if release.Released, err = r.decodedTemplate(ctx, v, shape.Template); err != nil {
		return err
	}
	if release.Running, err = r.runningTemplate(ctx, v, len(namespace.Quotas) > 0); err != nil {
		return err
	}
	found := preflight.Check(release, namespace)
	found.Warnings = append(found.Warnings, unknown...)
	v.memory.fits = knownFit{shape, v.given, r.clock.Now(), &found}
	v.fits = &found
	return nil
}

// readNamespace lists the objects. What we may not list is named: it holds up no release.
func (r *Reconciler) readNamespace(ctx context.Context, v *view) (preflight.Namespace, []string, error) {
	var quotas corev1.ResourceQuotaList
	var limits corev1.LimitRangeList
	var budgets policyv1.PodDisruptionBudgetList
	var autoscalers autoscalingv2.HorizontalPodAutoscalerList
	var unknown []string
	for _, list := range []client.ObjectList{&quotas, &limits, &budgets, &autoscalers} {
		if list == client.ObjectList(&limits) && len(quotas.Items) == 0 {
			continue // what they give to containers counts for quotas only
		}
		switch err := r.live.List(ctx, list, client.InNamespace(v.release.Namespace)); {
		case apierrors.IsForbidden(err):
			unknown = append(unknown, "not looked at: "+err.Error())
		case err != nil:
			return preflight.Namespace{}, nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	return preflight.Namespace{
		Quotas: quotas.Items, Limits: limits.Items, Budgets: budgets.Items, Autoscalers: autoscalers.Items,
	}, unknown, nil
}

// decodedTemplate is a template that is about to be released. The API server's defaults don't matter for
// what a quota counts.
func (r *Reconciler) decodedTemplate(ctx context.Context, v *view, t plan.Template) (*corev1.PodTemplateSpec, error) {
	raw, err := r.template(ctx, v, t)
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &template); err != nil {
		return nil, fmt.Errorf("decode template: %w", err)
	}
	return &template, nil
}

// runningTemplate is that of the Deployment, as the cache has it unless it is needed whole.
func (r *Reconciler) runningTemplate(ctx context.Context, v *view, whole bool) (*corev1.PodTemplateSpec, error) {
	if whole && isSlim(&v.deployment.Spec.Template) {
		if err := r.readDeployment(ctx, v); err != nil {
			return nil, err
		}
		if v.deployment == nil {
			return nil, errOutdated
		}
	}
	return &v.deployment.Spec.Template, nil
}
