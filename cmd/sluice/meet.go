package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/survey"
	"github.com/sluice-dev/sluice/rollout/workload"
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

// surrounding is the part of a namespace that affects a release, with the parts that could not be
// read.
type surrounding struct {
	objects preflight.Namespace
	missing []string
}

// of reads what there is of one release.
func (s *surroundings) of(ctx context.Context, change *preview.Change) (*preview.Live, error) {
	live, release, w := &preview.Live{}, &v1alpha1.BatchRelease{}, workload.New(change.WorkloadKind)
	if w == nil && change.Workload != "" {
		return live, nil // lint refuses it
	}
	if missing, err := s.cluster.find(ctx, change.Key(), release); err != nil {
		return nil, err
	} else if missing == "" {
		live.Release = release
	} else {
		live.Missing = append(live.Missing, missing)
	}
	if w == nil { // a train has none
		return live, nil
	}
	if err := s.cluster.routes(ctx, change, live); err != nil {
		return nil, err
	}
	missing, err := s.cluster.find(ctx, types.NamespacedName{Namespace: change.Namespace, Name: change.Workload}, w.Object())
	if err != nil {
		return nil, err
	}
	if missing != "" {
		live.Missing = append(live.Missing, missing)
		return live, nil
	}
	live.Workload, live.Running = workloadOf(w), w.PodTemplate()
	live.Fixed, live.Claims = new(spec.FixedOf(w.Object())), spec.ClaimsOf(w.Object())
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

// workloadOf returns a workload as the planner foresees with it.
func workloadOf(w workload.Workload) *plan.Workload {
	foreseen := &plan.Workload{Name: w.GetName(), UID: w.GetUID(), Replicas: w.Size(), Hold: hold.Of(w), Mover: hold.Mover(w)}
	foreseen.Deleting = w.GetDeletionTimestamp() != nil
	foreseen.MaxSurge, foreseen.MaxUnavailable = hold.Limits(w, foreseen.Hold)
	return foreseen
}
