package journeys

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// check says what is missing in a scene, nil if nothing is.
type check func(*scene) error

// all wants every check to hold in the same scene.
func all(checks ...check) check {
	return func(s *scene) error {
		for _, c := range checks {
			if err := c(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// subject is the name of a workload and of its BatchRelease.
type subject string

// web is the subject of most journeys.
const web subject = "web"

// pods are counted by image.
type pods map[string]int

// runs wants the workload to have exactly these pods.
func (name subject) runs(want pods) check {
	return func(s *scene) error {
		workload := s.workload(string(name))
		if workload == nil {
			return fmt.Errorf("want pods %v, there is no workload %s", want, name)
		}
		if have := s.podsOf(workload); !maps.Equal(have, want) {
			return fmt.Errorf("want pods %v, have %v", want, have)
		}
		return nil
	}
}

// serves wants the workload to have so many pods of an image, all ready, and no others.
func (name subject) serves(image string, replicas int32) check {
	want := pods{}
	if replicas > 0 {
		want[image] = int(replicas)
	}
	return all(name.runs(want), func(s *scene) error {
		if ready := s.readyPods(s.workload(string(name))); ready != replicas {
			return fmt.Errorf("want %d pods that serve, have %d", replicas, ready)
		}
		return nil
	})
}

// blocksAt wants the release to wait for its gates after a step, counted from 0.
func (name subject) blocksAt(index int32) check {
	return all(name.observed, name.status(fmt.Sprintf("step %d to block", index), func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.CurrentStepState == v1alpha1.StepBlocking && status.CurrentStepIndex == index && len(status.Gates) > 0
	}))
}

// attempt wants the status to speak of so many releases that were started.
func (name subject) attempt(n int64) check {
	return name.status(fmt.Sprintf("attempt %d", n), func(status *v1alpha1.BatchReleaseStatus) bool { return status.Attempt == n })
}

// completed wants the newest spec to be released, or rolled back, and the workload handed back.
func (name subject) completed(s *scene) error {
	return all(name.phase(v1alpha1.PhaseCompleted), name.observed, name.handedBack)(s)
}

// observed wants the status to speak of the newest spec.
func (name subject) observed(s *scene) error {
	release := s.releases[string(name)]
	if release == nil || release.Status.ObservedGeneration != release.Generation {
		return fmt.Errorf("want the newest spec of %s observed", name)
	}
	return nil
}

// handedBack wants nothing of ours to be left on the workload, and one ReplicaSet of a Deployment
// to have its pods.
func (name subject) handedBack(s *scene) error {
	workload := s.workload(string(name))
	if workload == nil || held(workload) {
		return fmt.Errorf("want workload %s handed back", name)
	}
	d, is := workload.(*appsv1.Deployment)
	if !is {
		return nil
	}
	active := 0
	for _, set := range s.setsOf(d) {
		if replicas(set) > 0 {
			active++
		}
	}
	if active > 1 {
		return fmt.Errorf("want one ReplicaSet of %s with pods, have %d", name, active)
	}
	return nil
}

// takenOver wants the workload to be held.
func (name subject) takenOver(s *scene) error {
	if workload := s.workload(string(name)); workload == nil || !held(workload) {
		return fmt.Errorf("want workload %s taken over", name)
	}
	return nil
}

func (name subject) phase(phase v1alpha1.Phase) check {
	return name.status("phase "+string(phase), func(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == phase })
}

func (name subject) reason(reason string) check {
	return name.status("reason "+reason, func(status *v1alpha1.BatchReleaseStatus) bool { return status.Reason == reason })
}

// says wants a part of the release's message.
func (name subject) says(part string) check {
	return name.status("message with "+part, func(status *v1alpha1.BatchReleaseStatus) bool { return strings.Contains(status.Message, part) })
}

// status wants something of the release's status.
func (name subject) status(what string, holds func(*v1alpha1.BatchReleaseStatus) bool) check {
	return func(s *scene) error {
		release := s.releases[string(name)]
		if release == nil || !holds(&release.Status) {
			return fmt.Errorf("want %s of release %s", what, name)
		}
		return nil
	}
}

// spec wants something of the Deployment.
func (name subject) spec(what string, holds func(*appsv1.Deployment) bool) check {
	return func(s *scene) error {
		d := s.deployments[string(name)]
		if d == nil || !holds(d) {
			return fmt.Errorf("want %s of Deployment %s", what, name)
		}
		return nil
	}
}
