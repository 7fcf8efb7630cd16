package rollout

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// servicesNamed returns the Services that a release names, as keys, and those that their sides are,
// or would be.
func servicesNamed(obj client.Object) []string {
	release := obj.(*v1alpha1.BatchRelease)
	var keys []string
	for _, service := range namedServices(release) {
		sides := route.SidesOf(service)
		for _, name := range []string{sides.Service, sides.Stable, sides.Canary} {
			keys = append(keys, client.ObjectKey{Namespace: release.Namespace, Name: name}.String())
		}
	}
	return keys
}

// observeUsers reads the Services that the release names, and whoever else's have the names of
// their sides.
func (r *sides) observeUsers(ctx context.Context, v *view) error {
	var cached []*corev1.Service
	for _, key := range servicesNamed(v.release) {
		namespace, name, _ := strings.Cut(key, "/")
		service := &corev1.Service{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("get Service: %w", err)
		}
		cached = append(cached, service)
	}
	v.traffic.users = map[string]*corev1.Service{}
	for _, service := range v.process.traffic.users.List(cached) {
		if !ownedBy(service, v.release.UID) {
			v.traffic.users[service.Name] = service
		}
	}
	return nil
}

// userService reads the Service of a user live, once in a pass; or says why it can't have sides.
func (r *sides) userService(ctx context.Context, v *view, name string) (*corev1.Service, *v1alpha1.TrafficProblem, error) {
	if !v.traffic.live[name] {
		if err := r.readService(ctx, v, name); err != nil {
			return nil, nil, err
		}
	}
	user := v.traffic.users[name]
	problem, err := r.userProblem(ctx, v, name, user)
	if problem != nil || err != nil {
		return nil, problem, err
	}
	return user, nil, nil
}

// readService reads a Service that is not the release's.
func (r *sides) readService(ctx context.Context, v *view, name string) error {
	key, service := client.ObjectKey{Namespace: v.release.Namespace, Name: name}, &corev1.Service{}
	err := r.live.Get(ctx, key, service)
	switch {
	case apierrors.IsNotFound(err):
		v.process.traffic.users.Deleted(key)
		delete(v.traffic.users, name)
	case err != nil:
		return fmt.Errorf("read Service %s: %w", name, err)
	case ownedBy(service, v.release.UID):
		delete(v.traffic.users, name)
	default:
		service.ManagedFields = nil // as in the cache
		v.process.traffic.users.Saw(service)
		v.traffic.users[name] = service
	}
	v.traffic.live[name] = true
	return nil
}

// userProblem returns why the Service of a user, which may be missing, can't have sides; nil if it
// can.
func (r *sides) userProblem(ctx context.Context, v *view, name string, user *corev1.Service) (*v1alpha1.TrafficProblem, error) {
	if user == nil {
		return &v1alpha1.TrafficProblem{
			Type: v1alpha1.TrafficServiceNotFound, Object: "Service " + client.ObjectKey{Namespace: v.release.Namespace, Name: name}.String(),
			Message: "the Service does not exist",
		}, nil
	}
	workload, pods := "", user.Spec.Selector
	if v.workload != nil { // else that is another problem
		template, err := r.runningTemplate(ctx, v, true) // which the cache doesn't have
		if err != nil {
			return nil, err
		}
		workload, pods = v.workload.Kind()+" "+v.workload.GetName(), template.Labels
	}
	return route.ServiceProblem(user, workload, pods), nil
}

// sideProblem returns what kept a side from being written; nil if nothing did, or something has
// changed since that it may have been about.
func sideProblem(v *view, name traffic.SideName) *v1alpha1.TrafficProblem {
	known := v.process.traffic.problems[name]
	if known.problem.Type == "" || known.of != sideRestsOn(v, name) {
		return nil
	}
	return known.problem.DeepCopy()
}

// sideRestsOn tells apart what a write of a side rests on: the user's Services, whoever has the
// names of the side's, and the labels of the workload's pods.
func sideRestsOn(v *view, name traffic.SideName) string {
	var on strings.Builder
	fmt.Fprint(&on, v.release.Generation)
	if v.workload != nil {
		fmt.Fprint(&on, " ", v.workload.GetUID(), v.workload.GetGeneration())
	}
	for _, service := range namedServices(v.release) {
		for _, name := range []string{service, sideService(service, name)} {
			if is := v.traffic.users[name]; is != nil {
				fmt.Fprint(&on, " ", name, is.UID, is.ResourceVersion)
			}
		}
	}
	return on.String()
}

// sidesAreFree reports whether nobody else has Services of the names of a Service's sides.
func sidesAreFree(v *view, service string) bool {
	sides := route.SidesOf(service)
	return v.traffic.users[sides.Stable] == nil && v.traffic.users[sides.Canary] == nil
}

// stillFree returns errOutdated if somebody else has made a Service of the name of a side
// meanwhile.
func (r *sides) stillFree(ctx context.Context, v *view, service string) error {
	sides := route.SidesOf(service)
	for _, name := range []string{sides.Stable, sides.Canary} {
		if err := r.readService(ctx, v, name); err != nil {
			return err
		}
	}
	if !sidesAreFree(v, service) {
		return errOutdated
	}
	return nil
}
