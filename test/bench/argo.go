// No CRD is generated from the types here, which are of Argo Rollouts.
// +kubebuilder:skip

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	rolloutAPI = "argoproj.io/v1alpha1"
	// rolloutHashLabel of ReplicaSets and pods of a Rollout is the hash of their template.
	rolloutHashLabel = "rollouts-pod-template-hash"
	// argoNamespace is the one of its leases.
	argoNamespace = "argo-rollouts"
	// argoLimit takes the limit off its client, as Sluice's has none: by default it sends 40 requests a
	// second.
	argoLimit = "10000"
	// argoThreads lets it work on 16 Rollouts at once, by default 10.
	argoThreads = "16"
)

// rollout is the part of a Rollout that the bench writes and reads.
type rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   rolloutSpec    `json:"spec"`
	Status *rolloutStatus `json:"status,omitempty"`
}

type rolloutSpec struct {
	Replicas int32                  `json:"replicas"`
	Selector *metav1.LabelSelector  `json:"selector"`
	Template corev1.PodTemplateSpec `json:"template"`
	Strategy rolloutStrategy        `json:"strategy"`
}

type rolloutStrategy struct {
	Canary rolloutCanary `json:"canary"`
}

type rolloutCanary struct {
	MaxSurge       string        `json:"maxSurge"`
	MaxUnavailable string        `json:"maxUnavailable"`
	Steps          []rolloutStep `json:"steps"`
}

// rolloutStep has one of its fields.
type rolloutStep struct {
	SetWeight *int32         `json:"setWeight,omitempty"`
	Pause     map[string]any `json:"pause,omitzero"` // empty: until somebody goes on
}

type rolloutStatus struct {
	Phase              string `json:"phase,omitempty"`
	ObservedGeneration string `json:"observedGeneration,omitempty"`
	CurrentPodHash     string `json:"currentPodHash,omitempty"`
	StableRS           string `json:"stableRS,omitempty"`
	Replicas           int32  `json:"replicas,omitempty"`
	UpdatedReplicas    int32  `json:"updatedReplicas,omitempty"`
	AvailableReplicas  int32  `json:"availableReplicas,omitempty"`
}

// needArgo builds Argo Rollouts if it is not in the cache yet.
func (k *kit) needArgo(ctx context.Context) (err error) {
	if k.argo == "" {
		k.argo, err = controlplane.ArgoBinaries(ctx, k.progress)
	}
	return err
}

// startArgo starts the controller of Argo Rollouts as it is shipped, leader election included, with
// the limits of its client taken off.
func (l *lab) startArgo(ctx context.Context) (*controller, error) {
	if err := l.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argoNamespace}}); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	probe, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return l.launch(ctx, "http://"+probe+"/healthz", l.argo.ArgoController(), []string{
		"--kubeconfig", l.plane.Kubeconfig, "--healthzPort", portOf(probe), "--metricsPort", portOf(metrics),
		"--qps", argoLimit, "--burst", argoLimit, "--rollout-threads", argoThreads,
	})
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // it comes from a listener
	return port
}

// argoRollouts has a Rollout where the others have a Deployment, with the same bounds and steps.
func (c comparison) argoRollouts() tool {
	weights := c.weights()
	targets := make([]int, len(weights))
	for i, weight := range weights {
		targets[i] = (int(weight)*int(c.pods) + 50) / 100 // the nearest number, as the controller has it
	}
	return tool{
		begin: c.underArgo, update: c.updateRollouts, done: rolledOut(2), sent: fromArgo,
		targets: targets, kinds: []client.ObjectList{rolloutList()},
	}
}

// underArgo deploys the fleet.
func (c comparison) underArgo(ctx context.Context, l *lab, log *watchLog) (*controller, error) {
	running, err := l.startArgo(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.createRollouts(ctx, l, log); err != nil {
		return nil, errors.Join(err, running.stop())
	}
	return running, nil
}

func (c comparison) createRollouts(ctx context.Context, l *lab, log *watchLog) error {
	err := c.atOnce(ctx, func(ctx context.Context, name string) error {
		object, err := c.rollout(name)
		if err != nil {
			return err
		}
		return l.client.Create(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if _, err := log.await(ctx, c.deployments, rolledOut(1)); err != nil {
		return err
	}
	return pass(ctx, settle)
}

// weights returns the steps in percent, as a Rollout has them: a number of pods is rounded up.
func (f fleet) weights() []int32 {
	weights := make([]int32, len(f.steps))
	for i, target := range f.targets() {
		percent, err := strconv.ParseInt(strings.TrimSuffix(f.steps[i].Replicas.StrVal, "%"), 10, 32)
		if f.steps[i].Replicas.Type == intstr.Int || err != nil {
			percent = int64((target*100 + int(f.pods) - 1) / int(f.pods))
		}
		weights[i] = int32(percent)
	}
	return weights
}

// rollout returns the Rollout of a name. It pauses after the steps whose gate somebody has to open.
func (f fleet) rollout(name string) (*unstructured.Unstructured, error) {
	deployment := f.deployment(name)
	weights := f.weights()
	var steps []rolloutStep
	for i := range weights {
		steps = append(steps, rolloutStep{SetWeight: &weights[i]})
		if f.steps[i].Gates[0].Manual != nil {
			steps = append(steps, rolloutStep{Pause: map[string]any{}})
		}
	}
	raw, err := json.Marshal(rollout{
		TypeMeta:   metav1.TypeMeta{APIVersion: rolloutAPI, Kind: "Rollout"},
		ObjectMeta: deployment.ObjectMeta,
		Spec: rolloutSpec{
			Replicas: f.pods, Selector: deployment.Spec.Selector, Template: deployment.Spec.Template,
			Strategy: rolloutStrategy{rolloutCanary{MaxSurge: "25%", MaxUnavailable: "25%", Steps: steps}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode Rollout: %w", err)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(raw)
}

func rolloutNamed(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(rolloutAPI)
	object.SetKind("Rollout")
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func rolloutList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(rolloutAPI)
	list.SetKind("RolloutList")
	return list
}

// updateRollouts gives all Rollouts a new template, as kubectl argo rollouts set image does.
func (f fleet) updateRollouts(ctx context.Context, c client.Client, version int) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":%q}]}}}}`, image(version))
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		return c.Patch(ctx, rolloutNamed(name), client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

// readRollout returns a Rollout, and whether an object is one whose status is of its last change.
func readRollout(object client.Object) (r rollout, current bool) {
	raw, is := object.(*unstructured.Unstructured)
	if !is || raw.GetKind() != "Rollout" {
		return r, false
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &r)
	return r, err == nil && r.Status != nil && r.Status.ObservedGeneration == strconv.FormatInt(raw.GetGeneration(), 10)
}

// rolledOut reports whether all pods of a Rollout are of a version that it calls stable.
func rolledOut(version int) func(client.Object) bool {
	return func(object client.Object) bool {
		r, current := readRollout(object)
		if !current || !isOf(r.Spec.Template, version) {
			return false
		}
		s, all := r.Status, r.Spec.Replicas
		return s.Phase == "Healthy" && s.StableRS == s.CurrentPodHash &&
			s.UpdatedReplicas == all && s.Replicas == all && s.AvailableReplicas == all
	}
}
