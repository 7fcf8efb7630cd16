package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/turns"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// errOutdated says that an object is not what it was when the pass began.
var errOutdated = errors.New("the object has changed since it was observed")

func outdated(err error) bool { return errors.Is(err, errOutdated) }

// shell is the cluster as a pass acts on it.
type shell struct {
	r      *Reconciler
	v      *view
	logger logr.Logger
}

var _ turns.Shell = shell{}

// advance runs a pass. It returns when to decide again though nothing has changed.
func (r *Reconciler) advance(ctx context.Context, v *view) ([]plan.Wake, error) {
	wakes, err := turns.Run(ctx, shell{r, v, log.FromContext(ctx)})
	if errors.Is(err, turns.ErrEndless) {
		return nil, fmt.Errorf("BatchRelease %s: %w", client.ObjectKeyFromObject(v.release), err)
	}
	return wakes, err
}

func (s shell) Plan() plan.Plan {
	seen := s.observation()
	next := plan.Next(seen)
	s.v.violated(s.logger, plan.Violations(seen, next)...)
	return next
}

// observation returns what the pass sees, and how often this process looks at pods: less often
// where many releases are in progress.
func (s shell) observation() plan.Observation {
	seen := s.v.observation(s.r.clock.Now())
	seen.PodLook = s.r.processes.countsInterval()
	return seen
}

func (s shell) Act(ctx context.Context, actions []plan.Action) error {
	err := s.r.act(ctx, s.v, actions)
	if _, failed := kube.OutcomeOf(err).(kube.Failed); failed && !outdated(err) && !errors.Is(err, turns.ErrRefused) && !errors.Is(err, turns.ErrUnasked) {
		return fmt.Errorf("%w: %w", turns.ErrUnanswered, err)
	}
	return err
}

func (s shell) Satisfy(ctx context.Context, needs plan.Needs) error {
	err := s.r.observer.satisfy(ctx, s.v, needs)
	trying := needs.Trying()
	if trying.Key == "" || !s.r.unasked(ctx, s.v, err) {
		return err
	}
	s.v.process.refuse(unanswered(err).ToTry(trying, s.v.release.Generation), s.r.clock.Now())
	return fmt.Errorf("%w: %w", turns.ErrUnasked, err)
}

func (s shell) WriteStatus(ctx context.Context, status *v1alpha1.BatchReleaseStatus) error {
	return s.r.writeStatus(ctx, s.v, status)
}

// Intend records a status that may wait to be written. The next pass begins with it, even if the
// rest of this pass fails.
func (s shell) Intend(status *v1alpha1.BatchReleaseStatus) {
	s.v.release.Status = *status
	if s.v.handedBack(status) || plan.OnlyEnters(&s.v.persisted, status) {
		s.v.process.unwritten.waits(s.v.release.UID, &s.v.persisted, status)
	}
}

func (s shell) Tell(events []plan.Event) { s.r.tell(s.v.release, events) }

func (s shell) Settle(ctx context.Context, last plan.Plan, told []plan.Event) ([]plan.Wake, error) {
	s.v.timed = last.Timed
	wakes, err := s.r.settle(ctx, s.v, last, told)
	if err == nil { // otherwise the findings were not reported: check again next time
		s.v.process.podLooks = last.PodLooks
	}
	return wakes, err
}

func (s shell) Keep(ctx context.Context, told []plan.Event) error {
	return s.r.keepStatus(ctx, s.v, told)
}

// settle writes the status of a pass that has nothing left to do, and then publishes its events.
func (r *Reconciler) settle(ctx context.Context, v *view, next plan.Plan, told []plan.Event) ([]plan.Wake, error) {
	if v.gone {
		return next.Wakes, nil
	}
	if equality.Semantic.DeepEqual(v.persisted, next.Status) { // what is told is the answer to an annotation
		v.process.unwritten = unwritten{}
		r.tell(v.release, told)
		return next.Wakes, nil
	}
	if wait := r.mayWait(v, &next.Status); wait > 0 {
		r.tell(v.release, told)
		return append(next.Wakes, plan.Wake{After: wait, Why: plan.WakeCountsWritten}), nil
	}
	if err := r.writeStatus(ctx, v, &next.Status); err != nil {
		return nil, err
	}
	r.tell(v.release, told)
	return next.Wakes, nil
}

// keepStatus writes the status that a pass had reached before it ended early. Without it the next
// pass would not know that a step was entered, and would take its pods for a mistake.
func (r *Reconciler) keepStatus(ctx context.Context, v *view, told []plan.Event) error {
	if v.gone || plan.OnlyEnters(&v.persisted, &v.release.Status) || !plan.Urgent(&v.persisted, &v.release.Status) {
		return nil
	}
	if err := r.writeStatus(ctx, v, &v.release.Status); err != nil {
		return err
	}
	r.tell(v.release, told)
	return nil
}

// mayWait returns how long a status waits that only counts pods, or enters steps that nobody is
// asked about: pods becoming available one by one do not cost a write each, nor do small steps.
func (r *Reconciler) mayWait(v *view, status *v1alpha1.BatchReleaseStatus) time.Duration {
	switch {
	case v.handedBack(status):
		return endsWithin - r.clock.Since(v.process.unwritten.handedBack)
	case plan.OnlyEnters(&v.persisted, status):
		return r.processes.countsInterval() - r.clock.Since(v.process.statusWritten)
	case v.process.unwritten.status != nil: // the next pass would take it for what came of the one that waits
		return 0
	case plan.Urgent(&v.persisted, status):
		return 0
	case len(v.release.Spec.Members) > 0: // it counts for all its members, which are many in progress
		return leastInterval - r.clock.Since(v.process.statusWritten)
	default:
		return r.processes.countsInterval() - r.clock.Since(v.process.statusWritten)
	}
}

// handedBack reports whether this process has handed the workload back, of which the status tells
// and no more.
func (v *view) handedBack(status *v1alpha1.BatchReleaseStatus) bool {
	return !v.process.unwritten.handedBack.IsZero() && plan.OnlyHandsBack(&v.persisted, status)
}

// writeStatus writes the status if the release is still the version that it was decided on.
func (r *Reconciler) writeStatus(ctx context.Context, v *view, status *v1alpha1.BatchReleaseStatus) error {
	before := v.release.DeepCopy()
	before.Status = v.persisted
	after := before.DeepCopy()
	after.Status = *status
	outcome := kube.PatchStatus(ctx, r.client, before, after)
	r.tellStatusRefused(ctx, v, outcome)
	if err := r.wroteRelease(ctx, v, outcome); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	v.sawRelease(after)
	v.process.statusWritten, v.process.unwritten = r.clock.Now(), unwritten{}
	return nil
}

// tell publishes events of a status that is written.
func (r *cluster) tell(release *v1alpha1.BatchRelease, events []plan.Event) {
	for _, event := range events {
		if event.Quiet {
			kube.LogOnly(r.recorder, release, event.Reason, event.Message)
			continue
		}
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(release, nil, kind, event.Reason, "Release", "%s", event.Message)
	}
}

// act carries out actions in their order. The first that fails, or that nobody would decide on any
// more, ends the pass: where the API server takes long to answer, much can happen between two of
// them. The plan deals with one that is refused.
func (r *Reconciler) act(ctx context.Context, v *view, actions []plan.Action) error {
	logger := log.FromContext(ctx)
	for _, action := range actions {
		err := r.overtaken(ctx, v)
		if _, moves := action.(plan.MovePods); err == nil && moves && r.podsOvertaken(v) {
			err = errOutdated
		}
		if err == nil {
			err = r.carryOut(ctx, v, action)
		}
		if refused := refusedFor(err); refused != nil {
			logger.V(1).Info("The API server refuses a write", "write", action.String(), "why", refused.Why) // people are told once
			v.process.refuse(refused.To(action, v.release.Generation), r.clock.Now())
			return turns.ErrRefused
		}
		if r.unasked(ctx, v, err) {
			v.process.refuse(unanswered(err).To(action, v.release.Generation), r.clock.Now())
			return fmt.Errorf("%w: %s: %w", turns.ErrUnasked, action, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		v.process.refusals = v.process.refusals.After(action)
		r.log(ctx, v, action)
	}
	return nil
}

// putBackAgain is after how long a log says again that something was put back: others may change it
// all the time.
const putBackAgain = time.Minute

// log logs an action. Beside the events, which are logged too, users look for two lines in a log: a
// change was put back, and the workload of a deleted release was handed back.
func (r *Reconciler) log(ctx context.Context, v *view, action plan.Action) {
	log.FromContext(ctx).V(1).Info(action.String(), "why", action.Why())
	if take, is := action.(plan.TakeOver); is && take.PutBack != "" && r.clock.Since(v.process.putBackLogged) >= putBackAgain {
		v.process.putBackLogged = r.clock.Now()
		kube.LogOnly(r.recorder, v.release, take.PutBack, take.Why())
	}
	if back, is := action.(plan.HandBack); is && v.release.DeletionTimestamp != nil { // else the end of the release says so
		kube.LogOnly(r.recorder, v.release, v1alpha1.ReasonHandingBack, fmt.Sprintf("%s: %s", back, back.Why()))
	}
}

// overtaken returns errOutdated if the cache now has another release than the pass decides on,
// another workload, or another spec or size of it. The version of a ReplicaSet or a pod guards a
// write to it, but does not cover these.
func (r *cluster) overtaken(ctx context.Context, v *view) error {
	var release v1alpha1.BatchRelease
	err := r.client.Get(ctx, client.ObjectKeyFromObject(v.release), &release, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get BatchRelease: %w", err)
	}
	if err == nil && kube.Newer(&release, v.release) {
		return errOutdated
	}
	if v.workload == nil {
		return nil
	}
	now := workload.New(v.workload.Kind())
	cached := now.Object()
	err = r.client.Get(ctx, v.workloadName(), cached, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", v.workload.Kind(), err)
	}
	another := cached.GetUID() != v.workload.GetUID()
	changed := cached.GetGeneration() != v.workload.GetGeneration() || now.Size() != v.workload.Size() // nodes size a DaemonSet
	if err == nil && (another || changed && kube.Newer(cached, v.workload.Object())) {
		return errOutdated
	}
	return nil
}

// podsOvertaken reports whether the pods that a move rests on have changed for the worse. The
// versions of those that are deleted do not cover the others, on whose availability it rests: a
// request in between may have taken long.
func (r *cluster) podsOvertaken(v *view) bool { return r.lost(v, v.pods.pods) }

// lost reports whether some of the pods that were seen have changed for the worse.
func (r *cluster) lost(v *view, pods []*corev1.Pod) bool {
	return v.pods.listed && r.watches.Overtaken(client.ObjectKeyFromObject(v.release), pods, v.pods.fresh)
}

// setsOvertaken returns errOutdated if the cache has a ReplicaSet with fewer available pods than a
// shrink rests on. The version of the ReplicaSet that shrinks does not cover the others.
func (r *cluster) setsOvertaken(ctx context.Context, v *view) error {
	for _, set := range v.sets {
		var cached appsv1.ReplicaSet
		err := r.client.Get(ctx, client.ObjectKeyFromObject(set), &cached, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get ReplicaSet: %w", err)
		}
		seen := min(set.Status.AvailableReplicas, sizeOf(set)) // of one that this pass has shrunk, the rest
		if err == nil && kube.Newer(&cached, set) && cached.Status.AvailableReplicas < seen {
			return errOutdated
		}
	}
	return nil
}

func (r *Reconciler) carryOut(ctx context.Context, v *view, action plan.Action) error {
	switch a := action.(type) {
	case plan.MovePods:
		return v.parts().move(ctx, r.kinds, v, a.Write)
	case plan.TakeOver:
		return r.workloads.takeOver(ctx, v, a)
	case plan.HandBack:
		return r.workloads.handBack(ctx, v, a)
	case plan.OpenGate:
		return r.objects.openGate(ctx, v, a)
	case plan.CloseGate:
		return r.objects.closeGate(ctx, v, a)
	case plan.RecordRevision:
		return r.history.keep(ctx, v, a)
	case plan.UpdateRevision:
		return r.history.mark(ctx, v, a)
	case plan.PruneRevision:
		return r.history.forget(ctx, v, a)
	case plan.RetryMember:
		return r.objects.retryMember(ctx, v, a)
	case plan.Annotate:
		return r.objects.annotate(ctx, v, a)
	case plan.Follow:
		return r.workloads.follow(ctx, v)
	case plan.CopyTemplate:
		return r.objects.copyTemplate(ctx, v, a)
	case plan.Traffic:
		return r.routeWriter.writeTraffic(ctx, v, a.Write)
	default:
		return fmt.Errorf("action %T is unknown", action)
	}
}

// noteLook notes how a pass has ended, for deadlines. Where somebody has changed what was decided
// on, the next pass looks.
func (v *view) noteLook(err error, now time.Time) {
	switch {
	case err == nil:
		v.process.watches = v.process.watches.Looked(&v.persisted, now).Timed(v.timed)
	case !outdated(err):
		v.process.watches = v.process.watches.Interrupted()
	}
}
