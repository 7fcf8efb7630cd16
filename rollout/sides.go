package rollout

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// sliceController is who writes the EndpointSlices of Services that have a selector.
const sliceController = "endpointslice-controller.k8s.io"

// knownProblem is why a write was of no use, for what was to be written, and when that was found out. No watch tells when it is fixed:
// Services of users are not watched.
type knownProblem struct {
	problem v1alpha1.TrafficProblem
	of      string
	at      time.Time
}

// problemAgain is after how long to find out whether there still is a problem.
const problemAgain = 10 * time.Second

// sideService is the name of the Service of a side.
func sideService(service string, side traffic.SideName) string {
	if side == traffic.StableSide {
		return route.SidesOf(service).Stable
	}
	return route.SidesOf(service).Canary
}

// namedServices are the Services that the release names, each once.
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

// seeSide is a side as it is.
func (r *Reconciler) seeSide(ctx context.Context, v *view, name traffic.SideName) (traffic.Side, error) {
	services := namedServices(v.release)
	side := traffic.Side{Made: len(services) > 0, Empty: true, Ready: math.MaxInt32, Problem: r.sideProblem(v, name)}
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
		ready, empty, err := r.endpointsOf(ctx, object)
		if err != nil {
			return traffic.Side{}, err
		}
		side.Ready, side.Empty = min(side.Ready, ready), side.Empty && empty
	}
	if side.Revision == "" {
		side.Ready, side.Empty = 0, false
	}
	return side, nil
}

// sideProblem is what kept a side from being written a moment ago; nil if nothing did, or it is time to try again.
func (r *Reconciler) sideProblem(v *view, name traffic.SideName) *v1alpha1.TrafficProblem {
	return r.stillProblem(v, v.process.traffic.problems[name])
}

func (r *Reconciler) stillProblem(v *view, known knownProblem) *v1alpha1.TrafficProblem {
	left := problemAgain - r.clock.Since(known.at)
	if known.problem.Type == "" || left <= 0 {
		return nil
	}
	v.again = earlier(v.again, left)
	return known.problem.DeepCopy()
}

// selects is the revision that a Service of a side selects; empty if somebody has changed it so that nobody can say, or made it so that it leads
// elsewhere or is reached from elsewhere.
func selects(service *corev1.Service) string {
	revision := service.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey]
	if service.Labels[v1alpha1.RevisionLabel] != revision || service.Spec.Type != corev1.ServiceTypeClusterIP || len(service.Spec.ExternalIPs) > 0 {
		return ""
	}
	return revision
}

// endpointsOf is how many pods a Service has as ready endpoints, and whether it has none that serve. What its EndpointSlices say counts once all
// of them are about what it selects now, which their controller tells by the Service's labels. Anyone who may write EndpointSlices of
// the namespace can make them up, as for every Service.
func (r *Reconciler) endpointsOf(ctx context.Context, service *corev1.Service) (ready int32, empty bool, err error) {
	var list discoveryv1.EndpointSliceList
	err = r.client.List(ctx, &list, client.InNamespace(service.Namespace),
		client.MatchingFields{indexService: service.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return 0, false, fmt.Errorf("list EndpointSlices: %w", err)
	}
	ours := slices.DeleteFunc(list.Items, func(s discoveryv1.EndpointSlice) bool {
		return !ownedBy(&s, service.UID) || s.Labels[discoveryv1.LabelManagedBy] != sliceController
	})
	pods, serving := map[types.UID]bool{}, false
	for i := range ours {
		if ours[i].Labels[v1alpha1.RevisionLabel] != service.Labels[v1alpha1.RevisionLabel] {
			return 0, false, nil
		}
		for j := range ours[i].Endpoints {
			endpoint := &ours[i].Endpoints[j]
			if target := endpoint.TargetRef; target != nil && answers(&endpoint.Conditions) {
				pods[target.UID] = true
			}
			serving = serving || is(endpoint.Conditions.Ready) || is(endpoint.Conditions.Serving)
		}
	}
	return int32(min(len(pods), math.MaxInt32)), len(ours) > 0 && !serving, nil
}

// answers reports whether requests to an endpoint are answered, and will be. A Service that publishes addresses of pods that are not ready
// has all of its endpoints ready.
func answers(c *discoveryv1.EndpointConditions) bool {
	return is(c.Ready) && is(c.Serving) && (c.Terminating == nil || !*c.Terminating)
}

// is reads a condition of an endpoint, which holds where it is not given.
func is(condition *bool) bool { return condition == nil || *condition }

// pointSide makes the Services of a side, or has them select another revision.
func (r *Reconciler) pointSide(ctx context.Context, v *view, w traffic.PointSide) error {
	delete(v.process.traffic.problems, w.Name)
	for _, service := range namedServices(v.release) {
		user, problem, err := r.userService(ctx, v, service)
		if err != nil {
			return err
		}
		if problem == nil {
			problem, err = r.writeSide(ctx, v, newSide(v.release, user, w))
		}
		if err != nil {
			return err
		}
		if problem != nil {
			v.process.traffic.problems[w.Name] = knownProblem{problem: *problem, at: r.clock.Now()}
			return nil
		}
	}
	return nil
}

// userService reads the Service of a user; or says why it can't have sides.
func (r *Reconciler) userService(ctx context.Context, v *view, name string) (*corev1.Service, *v1alpha1.TrafficProblem, error) {
	user, known := v.traffic.users[name]
	key := client.ObjectKey{Namespace: v.release.Namespace, Name: name}
	if !known {
		user = &corev1.Service{}
		err := r.live.Get(ctx, key, user)
		if apierrors.IsNotFound(err) {
			user = nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read Service %s: %w", name, err)
		}
		if v.traffic.users == nil {
			v.traffic.users = map[string]*corev1.Service{}
		}
		v.traffic.users[name] = user
	}
	selected, err := r.selected(ctx, v, user)
	if err != nil {
		return nil, nil, err
	}
	problem := &v1alpha1.TrafficProblem{Object: "Service " + key.String()}
	switch {
	case user == nil:
		problem.Type, problem.Message = v1alpha1.TrafficServiceNotFound, "the Service does not exist"
	case len(user.Spec.Selector) == 0 || user.Spec.Type == corev1.ServiceTypeExternalName:
		problem.Type, problem.Message = v1alpha1.TrafficNotShareable, "the Service selects no pods: spec.selector is empty"
	case !selected:
		problem.Type = v1alpha1.TrafficNotShareable
		problem.Message = fmt.Sprintf("the Service does not select the pods of %s %s", v.workload.Kind(), v.workload.GetName())
	default:
		return user, nil, nil
	}
	return nil, problem, nil
}

// selected reports whether a Service selects the pods of the workload. Their labels are in its template, which the cache doesn't have.
func (r *Reconciler) selected(ctx context.Context, v *view, service *corev1.Service) (bool, error) {
	if service == nil || v.workload == nil {
		return true, nil // that is another problem
	}
	template, err := r.runningTemplate(ctx, v, true)
	if err != nil {
		return false, err
	}
	return labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)), nil
}

// newSide is a Service that selects the pods of one revision of those that a user's selects.
func newSide(release *v1alpha1.BatchRelease, user *corev1.Service, w traffic.PointSide) *corev1.Service {
	side := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       user.Namespace,
			Name:            sideService(user.Name, w.Name),
			Labels:          map[string]string{v1alpha1.TrafficLabel: trafficLabel(release.Name), v1alpha1.RevisionLabel: w.Revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
		},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			Selector:                 map[string]string{},
			SessionAffinity:          user.Spec.SessionAffinity,
			SessionAffinityConfig:    user.Spec.SessionAffinityConfig.DeepCopy(),
			IPFamilies:               slices.Clone(user.Spec.IPFamilies),
			IPFamilyPolicy:           user.Spec.IPFamilyPolicy,
			InternalTrafficPolicy:    user.Spec.InternalTrafficPolicy,
			TrafficDistribution:      user.Spec.TrafficDistribution,
			PublishNotReadyAddresses: user.Spec.PublishNotReadyAddresses,
		},
	}
	if user.Spec.ClusterIP == corev1.ClusterIPNone {
		side.Spec.ClusterIP = corev1.ClusterIPNone
	}
	maps.Copy(side.Spec.Selector, user.Spec.Selector)
	side.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] = w.Revision
	for _, port := range user.Spec.Ports {
		port.NodePort = 0
		side.Spec.Ports = append(side.Spec.Ports, port)
	}
	return side
}

// trafficLabel is a release's name as the value of a label, which may be shorter than a name.
func trafficLabel(release string) string {
	const most = 63
	if len(release) <= most {
		return release
	}
	return release[:most]
}

// writeSide makes a Service of a side, or changes the one that there is to it; or says that it is somebody else's.
func (r *Reconciler) writeSide(ctx context.Context, v *view, side *corev1.Service) (*v1alpha1.TrafficProblem, error) {
	known := v.traffic.services[side.Name]
	if known == nil {
		err := r.client.Create(ctx, side)
		if apierrors.IsAlreadyExists(err) {
			return r.refreshSide(ctx, v, side)
		}
		if err != nil {
			return nil, fmt.Errorf("create Service: %w", err)
		}
		return nil, v.sawSide(side, side.DeepCopy())
	}
	wanted := withSide(known, side)
	outcome := kube.Patch(ctx, r.client, known, wanted)
	switch outcome.(type) {
	case kube.Unchanged:
		return nil, nil
	case kube.Written:
		return nil, v.sawSide(side, wanted)
	case kube.Outdated, kube.Gone:
		_, err := r.refreshSide(ctx, v, side)
		if err == nil {
			err = errOutdated
		}
		return nil, err
	case kube.Refused, kube.Failed:
	}
	return nil, fmt.Errorf("patch Service: %w", kube.Err(outcome))
}

// withSide is the Service that there is as that of a side: what the API server has chosen for it stays. Who makes one of this name that belongs to the
// release can't have it lead elsewhere, or be reached from elsewhere.
func withSide(known, side *corev1.Service) *corev1.Service {
	wanted := known.DeepCopy()
	if wanted.Labels == nil {
		wanted.Labels = map[string]string{}
	}
	maps.Copy(wanted.Labels, side.Labels)
	spec := &wanted.Spec
	spec.Selector, spec.Ports, spec.PublishNotReadyAddresses = side.Spec.Selector, side.Spec.Ports, side.Spec.PublishNotReadyAddresses
	if spec.Type != side.Spec.Type {
		spec.Type, spec.ExternalName, spec.ExternalTrafficPolicy, spec.HealthCheckNodePort = side.Spec.Type, "", "", 0
		spec.LoadBalancerIP, spec.LoadBalancerClass, spec.LoadBalancerSourceRanges, spec.AllocateLoadBalancerNodePorts = "", nil, nil, nil
	}
	spec.ExternalIPs = nil
	return wanted
}

// sawSide takes over the answer to a write of a side. Admission may have made something else of it.
func (v *view) sawSide(side, answer *corev1.Service) error {
	answer.ManagedFields = nil // as in the cache
	v.process.traffic.services.Saw(answer)
	v.traffic.services[answer.Name] = answer
	switch {
	case !equality.Semantic.DeepEqual(answer.Spec.Selector, side.Spec.Selector):
		return &rewritten{fields: []string{"spec.selector"}, written: true}
	case selects(answer) != side.Labels[v1alpha1.RevisionLabel]:
		return &rewritten{fields: []string{"metadata.labels"}, written: true}
	}
	return nil
}

// refreshSide remembers the Service that has the name of a side's, if it is ours: somebody may have taken its labels away, by which it is watched.
func (r *Reconciler) refreshSide(ctx context.Context, v *view, side *corev1.Service) (*v1alpha1.TrafficProblem, error) {
	var existing corev1.Service
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(side), &existing); err != nil {
		return nil, fmt.Errorf("read Service %s: %w", side.Name, gone(err))
	}
	if ownedBy(&existing, v.release.UID) {
		existing.ManagedFields = nil
		v.process.traffic.services.Saw(&existing)
		return nil, errOutdated
	}
	return &v1alpha1.TrafficProblem{
		Type: v1alpha1.TrafficNameTaken, Object: "Service " + client.ObjectKeyFromObject(side).String(),
		Message: "the release needs this name for a Service of its own: delete the Service, or rename it",
	}, nil
}

// dropSides deletes the Services of both sides, each as it was seen.
func (r *Reconciler) dropSides(ctx context.Context, v *view) error {
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
			if err := r.live.Get(ctx, key, &fresh); err == nil {
				v.process.traffic.services.Saw(&fresh)
			}
			return errOutdated
		default:
			return fmt.Errorf("delete Service %s: %w", key.Name, err)
		}
	}
	return nil
}
