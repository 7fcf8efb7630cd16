package journeys

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ending is the final state of the namespace of the release "web", without values that differ in
// each run, such as UIDs and times. By I7, runs with the same wishes end alike, whatever went
// wrong on the way.
type ending struct {
	Workload            appsv1.DeploymentSpec
	Labels, Annotations map[string]string
	// Sets and Ready are counted by image; a ReplicaSet without pods does not count.
	Sets  map[string]int32
	Ready map[string]int32
	// Release is the status; ReleaseAnnotations and Finalizers belong to the BatchRelease.
	Release            v1alpha1.BatchReleaseStatus
	ReleaseAnnotations map[string]string
	Finalizers         []string
	Gates, Kept        []string
}

func endingOf(s *scene) ending {
	d, release := s.deployments["web"], s.releases["web"]
	e := ending{Sets: map[string]int32{}, Ready: map[string]int32{}}
	if d != nil {
		e.Workload, e.Labels, e.Annotations = d.Spec, d.Labels, withoutCounters(d.Annotations)
		for _, set := range s.setsOf(d) {
			e.countSet(s, set)
		}
	}
	if release != nil {
		e.Release, e.ReleaseAnnotations, e.Finalizers = timeless(release.Status), release.Annotations, release.Finalizers
	}
	for _, gate := range s.gates {
		e.Gates = append(e.Gates, fmt.Sprintf("attempt %d, step %d: %s %s", gate.Spec.Attempt, gate.Spec.Step, gate.Spec.Type, gate.Status.Decision))
	}
	for _, kept := range s.kept {
		e.Kept = append(e.Kept, fmt.Sprintf("%d %s", kept.Revision, kept.Data.Raw))
	}
	slices.Sort(e.Gates)
	slices.Sort(e.Kept)
	return e
}

func (e *ending) countSet(s *scene, set *appsv1.ReplicaSet) {
	image := set.Spec.Template.Spec.Containers[0].Image
	if replicas(set) > 0 {
		e.Sets[image] += replicas(set)
	}
	for _, pod := range s.pods {
		if owns(set, pod) && alive(pod) && isReady(pod) {
			e.Ready[image]++
		}
	}
}

// withoutCounters leaves out the annotations in which the native controller counts.
func withoutCounters(annotations map[string]string) map[string]string {
	left := map[string]string{}
	for key, value := range annotations {
		if !isNumber(value) {
			left[key] = value
		}
	}
	return left
}

// timeless leaves out of a status when things happened, to which object, and how fast.
func timeless(status v1alpha1.BatchReleaseStatus) v1alpha1.BatchReleaseStatus {
	s := *status.DeepCopy()
	s.LastUpdateTime, s.StartedAt, s.StepStartedAt, s.ObservedGeneration, s.WorkloadUID = nil, nil, nil, 0, ""
	s.Log = nil // it says what happened on the way, which is not the same
	if s.Progress != nil {
		s.Progress.Since = metav1.Time{}
	}
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime, s.Conditions[i].ObservedGeneration = metav1.Time{}, 0
	}
	return s
}
