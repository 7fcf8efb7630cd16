package act

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/verb"
)

// Read returns the situation of a release, with what a request depends on.
func Read(ctx context.Context, c client.Reader, release *v1alpha1.BatchRelease, what *verb.Verb, r verb.Request) (verb.Situation, error) {
	var gates []v1alpha1.Gate
	var kept []appsv1.ControllerRevision
	var err error
	switch {
	case !what.Reads(r): // pages that read much do not hold it up
	case what.Asks == verb.Answer:
		gates, err = lookup.Gates(ctx, c, client.ObjectKeyFromObject(release))
	default:
		kept, err = lookup.Kept(ctx, c, release)
	}
	for i := range gates {
		gates[i].SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Gate"))
	}
	return verb.SituationOf(release, gates, kept), err
}
