package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// routes reads the routes that a release names, and whether their Services are there.
func (c *cluster) routes(ctx context.Context, change *preview.Change, live *preview.Live) error {
	named := change.SharedBy()
	if len(named) == 0 {
		return nil
	}
	live.Routes.Objects = map[v1alpha1.TrafficRoute]*unstructured.Unstructured{}
	live.Routes.Off = c.withoutTraffic(ctx)
	for _, one := range named {
		if err := c.route(ctx, change.Namespace, one, live); err != nil {
			return err
		}
	}
	for _, service := range servicesOf(named) {
		key := types.NamespacedName{Namespace: change.Namespace, Name: service}
		switch err := c.Get(ctx, key, &corev1.Service{}); {
		case apierrors.IsNotFound(err):
			live.Routes.Problems = append(live.Routes.Problems, v1alpha1.TrafficProblem{
				Type: v1alpha1.TrafficServiceNotFound, Object: "Service " + key.String(), Message: "it does not exist",
			})
		case apierrors.IsForbidden(err):
			live.Missing = append(live.Missing, "not looked at: "+err.Error())
		case err != nil:
			return fmt.Errorf("read Service: %w", err)
		}
	}
	return nil
}

// servicesOf names the Services of routes, each once.
func servicesOf(named []v1alpha1.TrafficRoute) []string {
	var services []string
	for _, one := range named {
		if !slices.Contains(services, one.Service) {
			services = append(services, one.Service)
		}
	}
	return services
}

// granted reports whether a route may be looked at for a release, and adds what keeps it from being
// shared. One of another namespace is to have the consent of that: files that name it have nobody
// tell whether it exists, or what its status says.
func (c *cluster) granted(ctx context.Context, namespace string, named v1alpha1.TrafficRoute, live *preview.Live) (bool, error) {
	if named.Namespace == "" || named.Namespace == namespace {
		return true, nil
	}
	there, err := c.grants(ctx, named.Namespace)
	var here []unstructured.Unstructured
	if err == nil {
		here, err = c.grants(ctx, namespace)
	}
	problem := route.NotGranted(named, namespace, there, here)
	switch {
	case apierrors.IsForbidden(err):
		live.Missing = append(live.Missing, "not looked at: "+err.Error())
		return false, nil
	case meta.IsNoMatchError(err):
		problem = &v1alpha1.TrafficProblem{
			Type: v1alpha1.TrafficNoGatewayAPI, Object: traffic.Words(named), Message: "the cluster does not serve ReferenceGrant",
		}
	case err != nil:
		return false, fmt.Errorf("list ReferenceGrants: %w", err)
	}
	if problem != nil {
		live.Routes.Problems = append(live.Routes.Problems, *problem)
	}
	return problem == nil, nil
}

// grants returns the ReferenceGrants of a namespace, in the newest version that is served.
func (c *cluster) grants(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	var err error
	for _, kind := range route.GrantKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err = c.List(ctx, list, client.InNamespace(namespace)); err == nil || !meta.IsNoMatchError(err) {
			return list.Items, err
		}
	}
	return nil, err
}

// route reads one. That it is not there is a problem, and that it may not be read is a sentence.
func (c *cluster) route(ctx context.Context, namespace string, named v1alpha1.TrafficRoute, live *preview.Live) error {
	if granted, err := c.granted(ctx, namespace, named, live); err != nil || !granted {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(route.GroupVersionKind(named.Kind))
	key := types.NamespacedName{Namespace: namespace, Name: named.Name}
	if named.Namespace != "" {
		key.Namespace = named.Namespace
	}
	problem := v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound, Object: traffic.Words(named), Message: "it does not exist"}
	switch err := c.Get(ctx, key, object); {
	case err == nil:
		live.Routes.Objects[named] = object
	case meta.IsNoMatchError(err):
		problem.Type, problem.Message = v1alpha1.TrafficNoGatewayAPI, "the cluster does not serve "+string(named.Kind)
		live.Routes.Problems = append(live.Routes.Problems, problem)
	case apierrors.IsNotFound(err):
		live.Routes.Problems = append(live.Routes.Problems, problem)
	case apierrors.IsForbidden(err):
		live.Missing = append(live.Missing, "not looked at: "+err.Error())
	default:
		return fmt.Errorf("read %s: %w", named.Kind, err)
	}
	return nil
}

// withoutTraffic reports whether the controller is known to run without --traffic. Not everybody
// may read its Deployment.
func (c *cluster) withoutTraffic(ctx context.Context) bool {
	for _, namespace := range []string{c.namespace, systemNamespace} {
		var deployment appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: controllerName}, &deployment); err == nil {
			return !takesTraffic(&deployment)
		}
	}
	return false
}

// takesTraffic reports whether a container of the controller is given --traffic.
func takesTraffic(controller *appsv1.Deployment) bool {
	return slices.ContainsFunc(controller.Spec.Template.Spec.Containers, func(container corev1.Container) bool {
		return trafficOf(slices.Concat(container.Command, container.Args))
	})
}

// trafficOf reads --traffic as the controller does: the last one holds, in any spelling that a flag
// takes. With one that it does not take the controller does not start.
func trafficOf(args []string) bool {
	on := false
	for _, arg := range args {
		switch value, is := strings.CutPrefix(arg, "--traffic"); {
		case is && value == "":
			on = true
		case is && value[0] == '=':
			on, _ = strconv.ParseBool(value[1:])
		}
	}
	return on
}
