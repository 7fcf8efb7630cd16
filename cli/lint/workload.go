package lint

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	strictjson "sigs.k8s.io/json"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// workload is the part of a workload's manifest that lint checks, for all kinds.
type workload struct {
	// name with the kind, such as Deployment web.
	name            string
	selector        *metav1.LabelSelector
	minReadySeconds int32
	// replicas; nil where something else, such as an HPA, may say how many there are.
	replicas *int32
	// surge and unavailable are the limits of its own strategy; nil where it has none.
	surge, unavailable *intstr.IntOrString
	// daemon: it has a pod on each node.
	daemon bool
	// empty: it asks for no pods. recreate and orderedReady say that it has these policies.
	empty, recreate, orderedReady bool
}

// decodeWorkload reports whether the workload can be read: package spec looks at its template only.
func (r *review) decodeWorkload() bool {
	read, err := workloadOf(r.release.WorkloadObject())
	if err == nil {
		r.workload = read
		return true
	}
	path, message := "spec", err.Error()
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path, message = wrong.Field, fmt.Sprintf("%s: must not be a %s", wrong.Field, wrong.Value)
	}
	r.find(Error, r.release.WorkloadPlace(), path, message+": the API server refuses the "+r.release.WorkloadKind)
	return false
}

func workloadOf(object *unstructured.Unstructured) (*workload, error) {
	read := &workload{}
	var err error
	switch object.GetKind() {
	case kinds.StatefulSet:
		err = read.fromStatefulSet(object)
	case kinds.DaemonSet:
		err = read.fromDaemonSet(object)
	default:
		err = read.fromDeployment(object)
	}
	read.name = object.GetKind() + " " + object.GetName()
	return read, err
}

// unknownFields returns the paths of fields that the workload's kind does not have, as of our
// libraries.
func unknownFields(object *unstructured.Unstructured) ([]string, error) {
	into := kinds.Named(object.GetKind()).New()
	data, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", object.GetKind(), err)
	}
	unknown, err := strictjson.UnmarshalStrict(data, into)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", object.GetKind(), err)
	}
	var paths []string
	for _, problem := range unknown {
		if located, ok := errors.AsType[strictjson.FieldError](problem); ok {
			paths = append(paths, located.FieldPath())
		}
	}
	return paths, nil
}

func (w *workload) fromDeployment(object *unstructured.Unstructured) error {
	var d appsv1.Deployment
	if err := convert(object, &d); err != nil {
		return err
	}
	w.selector, w.minReadySeconds, w.replicas = d.Spec.Selector, d.Spec.MinReadySeconds, d.Spec.Replicas
	w.recreate = d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
	w.empty = d.Spec.Replicas != nil && *d.Spec.Replicas == 0
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		w.surge, w.unavailable = rolling.MaxSurge, rolling.MaxUnavailable
	}
	return nil
}

func (w *workload) fromStatefulSet(object *unstructured.Unstructured) error {
	var s appsv1.StatefulSet
	if err := convert(object, &s); err != nil {
		return err
	}
	w.selector, w.minReadySeconds, w.replicas = s.Spec.Selector, s.Spec.MinReadySeconds, s.Spec.Replicas
	w.orderedReady = s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	w.empty = s.Spec.Replicas != nil && *s.Spec.Replicas == 0
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		w.unavailable = rolling.MaxUnavailable
	}
	return nil
}

func (w *workload) fromDaemonSet(object *unstructured.Unstructured) error {
	var d appsv1.DaemonSet
	if err := convert(object, &d); err != nil {
		return err
	}
	w.selector, w.minReadySeconds, w.daemon = d.Spec.Selector, d.Spec.MinReadySeconds, true
	if rolling := d.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		w.surge, w.unavailable = rolling.MaxSurge, rolling.MaxUnavailable
	}
	return nil
}
