package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// sliceController is who writes the EndpointSlices of Services that have a selector.
const sliceController = "endpointslice-controller.k8s.io"

// knownProblem holds the reason why a write was of no use, its basis, and when that was found out.
// On another basis the write may be of use.
type knownProblem struct {
	problem v1alpha1.TrafficProblem
	of      string
	at      time.Time
}

// answered are the versions of a user's Service and of that of a side, as the API server answered a
// write of it with something else than was asked for, of what only tells how requests are
// forwarded: admission has the last word on that.
type answered struct{ user, side string }

// sideService returns the name of the Service of a side.
func sideService(service string, side traffic.SideName) string {
	if side == traffic.StableSide {
		return route.SidesOf(service).Stable
	}
	return route.SidesOf(service).Canary
}

// namedServices returns the Services that the release names, each once.
func namedServices(release *v1alpha1.BatchRelease) []string {
	spec := release.Spec.Strategy.Traffic
	if spec == nil {
		return nil
	}
	var names []string
	for _, named := range spec.Routes {
		if !slices.Contains(names, named.Service) {
			names = append(names, named.Service)
		}
	}
	return names
}

// seeSide returns a side as it is.
func (r *sides) seeSide(ctx context.Context, v *view, name traffic.SideName) (traffic.Side, error) {
	services := namedServices(v.release)
	side := traffic.Side{Made: len(services) > 0, Empty: true, Ready: math.MaxInt32, Problem: sideProblem(v, name)}
	for i, service := range services {
		object := v.traffic.services[sideService(service, name)]
		if object == nil {
			return traffic.Side{Problem: side.Problem}, nil
		}
		if revision := selects(object); i == 0 {
			side.Revision = revision
		} else if revision != side.Revision {
			side.Revision = ""
		}
		is, err := r.compareSide(ctx, v, service, traffic.PointSide{Name: name, Revision: selects(object)}, object)
		if err != nil {
			return traffic.Side{}, err
		}
		ready, empty, err := r.endpointsOf(ctx, object)
		if err != nil {
			return traffic.Side{}, err
		}
		if is.elsewhere {
			ready, empty = 0, false
		}
		if ready < side.Ready {
			side.Ready, side.Fewest = ready, object.Name
		}
		side.Empty, side.Outdated = side.Empty && empty, side.Outdated || is.outdated
		side.Problem = cmp.Or(side.Problem, is.problem)
	}
	if side.Revision == "" {
		side.Ready, side.Empty = 0, false
	}
	return side, nil
}

// selects returns the revision that a Service of a side selects; empty if somebody has changed it
// so that nobody can say.
func selects(service *corev1.Service) string {
	revision := service.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey]
	if service.Labels[v1alpha1.RevisionLabel] != revision {
		return ""
	}
	return revision
}

// comparison is a Service of a side against what a write makes of it: outdated if it differs, and
// elsewhere if it may lead to other pods, or to none.
type comparison struct {
	outdated, elsewhere bool
	problem             *v1alpha1.TrafficProblem
}

// compareSide compares a Service of a side with what a write of its revision makes of it. Where the
// user's can't have sides any more, what there is goes on as it is.
func (r *sides) compareSide(
	ctx context.Context, v *view, service string, w traffic.PointSide, is *corev1.Service,
) (comparison, error) {
	user := v.traffic.users[service]
	if user == nil {
		return comparison{outdated: !within(is), elsewhere: !within(is)}, nil
	}
	wanted := withSide(is, newSide(v.release, user, w))
	switch {
	case !leads(is, wanted):
		problem, err := r.userProblem(ctx, v, service, user)
		broken := problem == nil || !within(is)
		return comparison{broken, broken, problem}, err
	case sameSide(is, wanted) || v.process.traffic.answered[is.Name] == versionsOf(user, is):
		return comparison{}, nil
	default:
		return comparison{outdated: true}, nil
	}
}

func versionsOf(user, side *corev1.Service) answered {
	return answered{user.ResourceVersion, side.ResourceVersion}
}

// endpointsOf returns how many pods a Service has as ready endpoints, and whether it has none that
// serve.
func (r *sides) endpointsOf(ctx context.Context, service *corev1.Service) (ready int32, empty bool, err error) {
	var list discoveryv1.EndpointSliceList
	err = r.client.List(ctx, &list, client.InNamespace(service.Namespace),
		client.MatchingFields{indexService: service.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return 0, false, fmt.Errorf("list EndpointSlices: %w", err)
	}
	ready, empty = endpointsIn(service, list.Items)
	return ready, empty, nil
}

// endpointsIn reads the EndpointSlices of a Service. They count once all of them are about the
// present selector, which their controller shows by the Service's labels, and about pods of the
// namespace. Slices of other owners don't count, unless they imitate those of the controller, as
// every user may who can write EndpointSlices of the namespace.
func endpointsIn(service *corev1.Service, all []discoveryv1.EndpointSlice) (ready int32, empty bool) {
	pods, ours, serving := map[types.UID]bool{}, false, false
	for i := range all {
		slice := &all[i]
		if !ownedBy(slice, service.UID) || slice.Labels[discoveryv1.LabelManagedBy] != sliceController {
			continue
		}
		if slice.Labels[v1alpha1.RevisionLabel] != service.Labels[v1alpha1.RevisionLabel] {
			return 0, false
		}
		ours = true
		for j := range slice.Endpoints {
			endpoint := &slice.Endpoints[j]
			if pod := podOf(endpoint, service.Namespace); pod != "" && answers(&endpoint.Conditions) {
				pods[pod] = true
			}
			serving = serving || is(endpoint.Conditions.Ready) || is(endpoint.Conditions.Serving)
		}
	}
	return int32(min(len(pods), math.MaxInt32)), ours && !serving
}

// podOf returns the pod of an endpoint; empty if it has none in the namespace.
func podOf(endpoint *discoveryv1.Endpoint, namespace string) types.UID {
	target := endpoint.TargetRef
	if target == nil || target.Kind != "Pod" || target.Namespace != namespace {
		return ""
	}
	return target.UID
}

// answers reports whether requests to an endpoint are answered, and will be. A Service that
// publishes addresses of pods that are not ready has all of its endpoints ready.
func answers(c *discoveryv1.EndpointConditions) bool {
	return is(c.Ready) && is(c.Serving) && (c.Terminating == nil || !*c.Terminating)
}

// is reads a condition of an endpoint, which holds where it is not given.
func is(condition *bool) bool { return condition == nil || *condition }

// pointSide makes the Services of a side, or has them select another revision, or be again as they
// were written.
func (r *sides) pointSide(ctx context.Context, v *view, w traffic.PointSide) error {
	delete(v.process.traffic.problems, w.Name)
	for _, service := range namedServices(v.release) {
		user, problem, err := r.userService(ctx, v, service)
		if err != nil {
			return err
		}
		if problem == nil {
			problem, err = r.writeSide(ctx, v, user, newSide(v.release, user, w))
		}
		if err != nil {
			return err
		}
		if problem != nil {
			v.process.traffic.problems[w.Name] = knownProblem{problem: *problem, of: sideRestsOn(v, w.Name)}
			return nil
		}
	}
	return nil
}

// sidesFollow returns errOutdated if the user's Service has changed, and its sides not yet. A user
// may change the Service right before the route, and the cache may have the route first.
func (r *sides) sidesFollow(ctx context.Context, v *view, service string) error {
	user, problem, err := r.userService(ctx, v, service)
	if problem != nil || err != nil {
		return err
	}
	for _, name := range []traffic.SideName{traffic.StableSide, traffic.CanarySide} {
		is := v.traffic.services[sideService(service, name)]
		if is == nil {
			continue
		}
		compared, err := r.compareSide(ctx, v, user.Name, traffic.PointSide{Name: name, Revision: selects(is)}, is)
		if err == nil && compared.outdated {
			err = errOutdated
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSide makes a Service of a side, or changes the one that there is to it; or says that it is
// somebody else's.
func (r *sides) writeSide(ctx context.Context, v *view, user, side *corev1.Service) (*v1alpha1.TrafficProblem, error) {
	known := v.traffic.services[side.Name]
	if known == nil {
		return r.createSide(ctx, v, user, side)
	}
	wanted := withSide(known, side)
	outcome := kube.Patch(ctx, r.client, known, wanted)
	switch outcome.(type) {
	case kube.Unchanged:
		return nil, nil
	case kube.Written:
		return nil, sawSide(v, user, side, wanted)
	case kube.Outdated, kube.Gone:
		var fresh corev1.Service
		err := r.changed(ctx, known, &fresh, kube.Err(outcome))
		if fresh.UID != "" {
			sawNamed(v, &fresh)
		}
		return nil, fmt.Errorf("patch Service: %w", err)
	case kube.Refused, kube.Failed:
	}
	return nil, fmt.Errorf("patch Service: %w", kube.Err(outcome))
}

// createSide creates the Service of a side, and returns a problem if another has its name.
func (r *sides) createSide(ctx context.Context, v *view, user, side *corev1.Service) (*v1alpha1.TrafficProblem, error) {
	answer := side.DeepCopy()
	err := r.client.Create(ctx, answer)
	switch {
	case err == nil:
		return nil, sawSide(v, user, side, answer)
	case !apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("create Service: %w", err)
	}
	var existing corev1.Service
	if err := r.readTaken(ctx, client.ObjectKeyFromObject(side), &existing, err); err != nil {
		return nil, err
	}
	if sawNamed(v, &existing) {
		return nil, errOutdated
	}
	return taken(v, &existing), nil
}

// sawSide takes over the answer to a write of a side. Admission may have made something else of it.
func sawSide(v *view, user, side, answer *corev1.Service) error {
	answer.ManagedFields = nil // as in the cache
	v.process.traffic.services.Saw(answer)
	v.traffic.services[answer.Name] = answer
	delete(v.process.traffic.answered, answer.Name)
	switch wanted := withSide(answer, side); {
	case !leads(answer, wanted):
		return &rewritten{fields: []string{"spec.selector"}, written: true}
	case selects(answer) != side.Labels[v1alpha1.RevisionLabel]:
		return &rewritten{fields: []string{"metadata.labels"}, written: true}
	case !sameSide(answer, wanted):
		v.process.traffic.answered[answer.Name] = versionsOf(user, answer)
	}
	return nil
}

// sawNamed takes over the Service that has the name of a side's. It reports whether that is ours: a
// user may have removed the labels by which it is watched.
func sawNamed(v *view, existing *corev1.Service) (ours bool) {
	existing.ManagedFields = nil
	if ownedBy(existing, v.release.UID) {
		v.process.traffic.services.Saw(existing)
		return true
	}
	v.process.traffic.users.Saw(existing)
	v.traffic.users[existing.Name] = existing
	return false
}

// taken says that somebody else has a Service of the name of a side's. That of another release is
// not to be deleted: it gets requests.
func taken(v *view, existing *corev1.Service) *v1alpha1.TrafficProblem {
	problem := &v1alpha1.TrafficProblem{Object: "Service " + client.ObjectKeyFromObject(existing).String()}
	owner := metav1.GetControllerOf(existing)
	if owner != nil && owner.Kind == "BatchRelease" && owner.Name != v.release.Name {
		problem.Type = v1alpha1.TrafficHeldByAnother
		problem.Message = fmt.Sprintf("it belongs to release %q, which shares the requests for the same Service", owner.Name)
		return problem
	}
	problem.Type, problem.Message = v1alpha1.TrafficNameTaken, "the release needs this name for a Service of its own"
	return problem
}

// dropSides deletes the Services of both sides, each as it was seen.
func (r *sides) dropSides(ctx context.Context, v *view) error {
	for _, service := range v.traffic.services {
		key := client.ObjectKeyFromObject(service)
		err := r.client.Delete(ctx, service, client.Preconditions{UID: &service.UID, ResourceVersion: &service.ResourceVersion})
		switch {
		case err == nil:
			v.process.traffic.services.Saw(service) // which the cache may not have had yet
			v.process.traffic.services.Deleted(key)
		case apierrors.IsNotFound(err):
			v.process.traffic.services.Deleted(key)
		case apierrors.IsConflict(err):
			var fresh corev1.Service
			err := r.changed(ctx, service, &fresh, err)
			if fresh.UID != "" {
				v.process.traffic.services.Saw(&fresh)
			}
			return fmt.Errorf("delete Service %s: %w", key.Name, err)
		default:
			return fmt.Errorf("delete Service %s: %w", key.Name, err)
		}
	}
	return nil
}
