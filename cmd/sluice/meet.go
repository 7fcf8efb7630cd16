package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/survey"
)

// meet adds to a plan what it comes upon in the cluster.
func (c *cluster) meet(ctx context.Context, shown *preview.Preview) error {
	found := map[types.NamespacedName]*preview.Live{}
	around := &surroundings{cluster: c, known: map[string]surrounding{}}
	for i := range shown.Releases {
		change := &shown.Releases[i]
		if change.Kind == preview.Unchanged {
			continue
		}
		live, err := around.of(ctx, change)
		if err != nil {
			return fmt.Errorf("look up %s in the cluster: %w", change.Key(), err)
		}
		found[change.Key()] = live
	}
	return shown.Meet(found, time.Now())
}

// surroundings reads each namespace once.
type surroundings struct {
	cluster *cluster
	known   map[string]surrounding
}

// surrounding is what in a namespace affects a release, and what could not be read.
type surrounding struct {
	objects preflight.Namespace
	missing []string
}

// of reads what there is of one release.
func (s *surroundings) of(ctx context.Context, change *preview.Change) (*preview.Live, error) {
	live, release, deployment := &preview.Live{}, &v1alpha1.BatchRelease{}, &appsv1.Deployment{}
	if missing, err := s.cluster.find(ctx, change.Key(), release); err != nil {
		return nil, err
	} else if missing == "" {
		live.Release = release
	} else {
		live.Missing = append(live.Missing, missing)
	}
	missing, err := s.cluster.find(ctx, types.NamespacedName{Namespace: change.Namespace, Name: change.Workload}, deployment)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		live.Missing = append(live.Missing, missing)
		return live, nil
	}
	live.Workload, live.Running = workloadOf(deployment), &deployment.Spec.Template
	around, err := s.namespace(ctx, change.Namespace)
	live.Namespace = around.objects
	live.Missing = append(live.Missing, around.missing...)
	return live, err
}

func (s *surroundings) namespace(ctx context.Context, name string) (surrounding, error) {
	if known, found := s.known[name]; found {
		return known, nil
	}
	objects, missing, err := survey.Namespace(ctx, s.cluster, name)
	if err != nil {
		return surrounding{}, err
	}
	s.known[name] = surrounding{objects, missing}
	return s.known[name], nil
}

// find reads an object. That it is not there, or may not be read, is a sentence.
func (c *cluster) find(ctx context.Context, key types.NamespacedName, object client.Object) (missing string, err error) {
	switch err := c.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
		return "not there: " + err.Error(), nil
	case apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return "not looked at: " + err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("read %T: %w", object, err)
	}
	return "", nil
}

// workloadOf is a Deployment as the planner foresees with it.
func workloadOf(deployment *appsv1.Deployment) *plan.Workload {
	workload := &plan.Workload{
		Name: deployment.Name, UID: deployment.UID, Replicas: ptr.Deref(deployment.Spec.Replicas, 1), Hold: hold.Of(deployment),
		Mover: hold.Mover(deployment),
	}
	workload.MaxSurge, workload.MaxUnavailable = hold.Limits(deployment, workload.Hold)
	return workload
}
