package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/proof"
)

// Bundle returns what the cluster has to check a pod by: the pod, its template, and the statements
// on the gates that have passed.
func Bundle(trace *show.Trace) (*proof.Bundle, error) {
	if trace.Release == nil {
		return nil, errors.New("its workload is not released by Sluice")
	}
	template, err := templateOf(trace.Version)
	if err != nil {
		return nil, err
	}
	b := &proof.Bundle{
		Pod: claimOf(trace.Pod, template), Revision: show.VersionName(trace.Version), Template: template, Release: trace.Release.Namespace + "/" + trace.Release.Name,
	}
	for _, gate := range trace.Passed() {
		if gate.Status.Attestation != "" {
			b.Gates = append(b.Gates, proof.BundledGate{Envelope: []byte(gate.Status.Attestation), Policy: gate.Spec.Policy.DeepCopy()})
		}
	}
	return b, nil
}

// templateOf returns the template of a version.
func templateOf(version show.Object) (*corev1.PodTemplateSpec, error) {
	switch version := version.(type) {
	case *appsv1.ReplicaSet:
		return &version.Spec.Template, nil
	case *appsv1.ControllerRevision:
		raw, err := podtemplate.OfHistory(version.Data.Raw)
		template := &corev1.PodTemplateSpec{}
		if err == nil {
			err = json.Unmarshal(raw, template)
		}
		if err != nil {
			return nil, fmt.Errorf("read ControllerRevision %s: %w", version.Name, err)
		}
		return template, nil
	}
	return nil, errors.New("it has no template")
}

// claimOf returns what a check reads of a pod of a template.
func claimOf(pod *corev1.Pod, template *corev1.PodTemplateSpec) *corev1.Pod {
	annotations := maps.Clone(pod.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { _, has := template.Annotations[key]; return !has })
	of := func(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
		var made []corev1.ContainerStatus
		for _, status := range statuses {
			made = append(made, corev1.ContainerStatus{Name: status.Name, ImageID: status.ImageID})
		}
		return made
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Labels: pod.Labels, Annotations: annotations},
		Spec:       *pod.Spec.DeepCopy(),
		Status: corev1.PodStatus{
			ContainerStatuses: of(pod.Status.ContainerStatuses), InitContainerStatuses: of(pod.Status.InitContainerStatuses),
		},
	}
}

// Commit returns the commit that the statements of a bundle are about, as nobody has checked yet;
// empty if the release is of none.
func Commit(trace *show.Trace) string {
	for _, gate := range trace.Passed() {
		return gate.Spec.Commit
	}
	if trace.Kept != nil {
		return trace.Kept.Annotations[v1alpha1.CommitAnnotation]
	}
	return trace.Release.Status.Commit
}
