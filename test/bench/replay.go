package main

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// extent is how far the pods of a Deployment strayed: the least that were available and the
// most that there were, those that are being deleted aside.
type extent struct{ least, most int }

// handOver is the moment between two steps: the change of the pod that completed one, and the
// change that began the next, of a ReplicaSet, or of the first old pod that goes where pods are
// replaced in place.
type handOver struct{ pod, next change }

// history is the record of one Deployment in the watch log, from a given time.
type history struct {
	extent
	handOvers []handOver
}

// replay is a walk through the changes of one Deployment, in their order.
type replay struct {
	history
	start   time.Time
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.ReplicaSet
	update  string          // hash of the new version: of the first ReplicaSet, or pod in place, after the start
	before  map[string]bool // hashes of pods in place before the start
	targets []int
	step    int     // the step in progress
	reached *change // what made its pods complete
}

// replayAll walks through the changes of all Deployments. Targets are the updated pods at the
// end of each step; none means that there are no steps.
func replayAll(changes []change, start time.Time, targets []int) []history {
	replays := map[string]*replay{}
	for _, c := range changes {
		name := c.object.GetLabels()[appLabel]
		if name == "" {
			continue
		}
		if replays[name] == nil {
			replays[name] = newReplay(start, targets)
		}
		replays[name].apply(c)
	}
	histories := make([]history, 0, len(replays))
	for _, r := range replays {
		histories = append(histories, r.history)
	}
	return histories
}

func newReplay(start time.Time, targets []int) *replay {
	return &replay{
		start: start, targets: targets,
		history: history{extent: extent{least: -1}},
		pods:    map[string]*corev1.Pod{}, sets: map[string]*appsv1.ReplicaSet{}, before: map[string]bool{},
	}
}

func (r *replay) apply(c change) {
	switch object := c.object.(type) {
	case *corev1.Pod:
		r.goes(object, c)
		put(r.pods, object.Name, object, c.gone)
		r.tally(c)
	case *appsv1.ReplicaSet:
		if r.sets[object.Name] == nil && !c.at.Before(r.start) {
			r.update = hashOf(object)
		}
		put(r.sets, object.Name, object, c.gone)
		r.beginStep(c)
	}
}

func put[T any](all map[string]T, name string, object T, gone bool) {
	if gone {
		delete(all, name)
		return
	}
	all[name] = object
}

// hashOf returns the version of a pod or a ReplicaSet.
func hashOf(object interface{ GetLabels() map[string]string }) string {
	labels := object.GetLabels()
	return cmp.Or(labels[appsv1.DefaultDeploymentUniqueLabelKey], labels[rolloutHashLabel], placeHashOf(object))
}

// placeHashOf returns the version of a pod in place, of a StatefulSet or a DaemonSet.
func placeHashOf(object interface{ GetLabels() map[string]string }) string {
	return object.GetLabels()[appsv1.ControllerRevisionHashLabelKey]
}

// goes takes in a change of a pod in place: which version is the new one, and whether the next step
// begins, as an old pod goes that was still there.
func (r *replay) goes(pod *corev1.Pod, c change) {
	hash := placeHashOf(pod)
	if hash == "" {
		return
	}
	if c.at.Before(r.start) {
		r.before[hash] = true
		return
	}
	if !r.before[hash] {
		r.update = hash
	}
	was := r.pods[pod.Name]
	there := was != nil && was.DeletionTimestamp == nil
	if r.reached != nil && hash != r.update && there && (c.gone || pod.DeletionTimestamp != nil) {
		r.nextStep(c)
	}
}

// tally counts the pods after a change of one of them.
func (r *replay) tally(c change) {
	if c.at.Before(r.start) {
		return
	}
	all, available, updated := 0, 0, 0
	for _, pod := range r.pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		all++
		if !ready(pod) {
			continue
		}
		available++
		if hashOf(pod) == r.update {
			updated++
		}
	}
	if r.least < 0 || available < r.least {
		r.least = available
	}
	r.most = max(r.most, all)
	if r.stepUnderWay() && r.reached == nil && updated >= r.targets[r.step] {
		r.reached = &c
	}
}

// stepUnderWay reports whether another step follows.
func (r *replay) stepUnderWay() bool { return r.update != "" && r.step < len(r.targets)-1 }

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// beginStep notes the first change of a ReplicaSet that goes beyond the step that is complete.
func (r *replay) beginStep(c change) {
	if r.reached == nil || !r.beyondTarget() {
		return
	}
	r.nextStep(c)
}

func (r *replay) nextStep(c change) {
	r.handOvers = append(r.handOvers, handOver{*r.reached, c})
	r.step++
	r.reached = nil
}

// beyondTarget reports whether the ReplicaSets ask for more updated pods than the step, or for
// fewer others.
func (r *replay) beyondTarget() bool {
	updated, others := 0, 0
	for _, set := range r.sets {
		if hashOf(set) == r.update {
			updated += int(ptr.Deref(set.Spec.Replicas, 1))
		} else {
			others += int(ptr.Deref(set.Spec.Replicas, 1))
		}
	}
	target, all := r.targets[r.step], r.targets[len(r.targets)-1]
	return updated > target || others < all-target
}
