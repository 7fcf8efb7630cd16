package verb

import "github.com/sluice-dev/sluice/api/v1alpha1"

// Taken reports whether the controller has acted on what was written to a release, or why it never
// will.
type Taken func(*v1alpha1.BatchRelease) (bool, error)

// DeclinedError says that the controller has declined a request.
type DeclinedError struct{ why string }

func (d *DeclinedError) Error() string { return d.why }

// GateDecided reports whether a gate is decided.
func GateDecided(gate *v1alpha1.Gate) bool {
	return gate.Status.Decision == v1alpha1.DecisionPassed || gate.Status.Decision == v1alpha1.DecisionRejected
}

// suspendTaken reports whether the controller has acted on the current spec.suspend of the release.
func suspendTaken(suspend bool) Taken {
	return func(release *v1alpha1.BatchRelease) (bool, error) {
		stands := release.Status.StoppedFor(v1alpha1.StopSuspended)
		return release.Status.ObservedGeneration >= release.Generation && stands == suspend, nil
	}
}

// rollbackTaken reports whether the controller has removed the annotation, which it does once the
// rollback is recorded.
func rollbackTaken(release *v1alpha1.BatchRelease) (bool, error) {
	if _, asked := release.Annotations[v1alpha1.RollbackAnnotation]; asked {
		return false, nil
	}
	if at := release.Status.Train; at != nil && at.Answer == v1alpha1.MemberRefused { // its train returns
		return true, nil
	}
	if release.Status.Rollback == nil {
		return false, &DeclinedError{"the rollback was refused: the events of the release say why"}
	}
	return true, nil
}

// retryTaken reports whether the controller has removed the annotation.
func retryTaken(release *v1alpha1.BatchRelease) (bool, error) {
	_, asked := release.Annotations[v1alpha1.RetryAnnotation]
	return !asked, nil
}

// jumpTaken reports whether the controller has acted on the request to jump.
func jumpTaken(release *v1alpha1.BatchRelease) (bool, error) {
	status := &release.Status
	switch {
	case status.NextStepIndex != nil:
		return false, nil
	case status.Jump == nil || status.Jump.Attempt == 0:
		return false, &DeclinedError{"the jump was refused: the events of the release say why"}
	}
	return true, nil
}

// pausePointTaken reports whether a release has continued past the confirmed pod.
func pausePointTaken(release *v1alpha1.BatchRelease) (bool, error) {
	at := release.Status.PausePoint
	return at == nil || at.Confirmed != at.Pod, nil
}
