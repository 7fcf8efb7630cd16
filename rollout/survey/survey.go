// Package survey reads what package preflight judges.
//
//	cluster ──► Namespace ──► preflight.Namespace, and what could not be read
//
// It only lists. The controller asks before it takes a workload over, and people before they push.
package survey

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/preflight"
)

// Namespace lists the objects. It names the lists that were forbidden, which don't block a
// release.
func Namespace(ctx context.Context, cluster client.Reader, name string) (preflight.Namespace, []string, error) {
	var quotas corev1.ResourceQuotaList
	var limits corev1.LimitRangeList
	var budgets policyv1.PodDisruptionBudgetList
	var autoscalers autoscalingv2.HorizontalPodAutoscalerList
	var unknown []string
	for _, list := range []client.ObjectList{&quotas, &limits, &budgets, &autoscalers} {
		if list == client.ObjectList(&limits) && len(quotas.Items) == 0 {
			continue // what they give to containers counts for quotas only
		}
		switch err := cluster.List(ctx, list, client.InNamespace(name)); {
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
