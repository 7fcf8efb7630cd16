package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Refusal is a write of the plan that failed because of its content: the API server, or admission,
// refuses it, or changes it to something else. Sending it again at once is of no use.
type Refusal struct {
	// Write is the name of the write (WriteOf).
	Write mover.Name
	// Why is the answer of the API server.
	Why string
	// Unanswered marks a write that fails while the API server answers reads, for example because
	// a webhook that it asks does not answer. It is unknown whether the write is done.
	Unanswered bool
	// Unguarded marks a Follow of a workload on which no admission policy acts.
	Unguarded bool
	// Generation is that of the release at the time: another spec may fix it.
	Generation int64
	// Rewritten marks a write whose result differs from what it asks for, and Written one for
	// which an object has changed.
	Rewritten, Written bool
	// Tries counts how often it was sent for this generation.
	Tries int
	// Until is when to send it again; zero is not before something else is requested.
	Until time.Time
	// Left is the write if it records a template in the history that the workload never had: once
	// the status has the rollback that leaves the template, nothing else has its digest.
	Left *RecordRevision
}

// To returns the refusal of an action, for a generation of the release.
func (r Refusal) To(action Action, generation int64) Refusal {
	r = r.ToTry(WriteOf(action), generation)
	if a, is := action.(RecordRevision); is && a.Template != nil {
		r.Left = &a
	}
	return r
}

// ToTry returns the refusal of a write that is no action.
func (r Refusal) ToTry(write mover.Name, generation int64) Refusal {
	r.Write, r.Generation = write, generation
	return r
}

// Trying returns the name of the dry run that needs ask for; empty if they ask for none.
func (n Needs) Trying() mover.Name {
	template := cmp.Or(n.Resolve, n.Drift)
	if template == nil {
		return mover.Name{}
	}
	return mover.Name{Key: "TryTemplate" + template.key(), Words: "try " + template.String()}
}

// Refusals holds the refusals that a process knows of. The zero value is none.
type Refusals []Refusal

const (
	// firstRetry and lastRetry are after how long a refused write is sent again, the first time and
	// in the end: a policy, a quota or a right may have changed, which no watch shows.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	// AgainSoon is after how long a write is sent again that was not answered, the first time, and
	// after how long the plan is asked what to do without it. unansweredRetry is after how long it
	// is sent again from then on.
	AgainSoon       = time.Second
	unansweredRetry = 8 * time.Second
	// rewrittenRetry is the longest wait if a dry run shows that admission changes the write:
	// people undo that, and look at the release.
	rewrittenRetry = 10 * time.Second
	// maxWritten is how often a write is sent that changes an object to something else than what it
	// asks for.
	maxWritten = 3
	// maxRefusals is how many are remembered.
	maxRefusals = 32
)

// With adds a refusal. The spread, from 0 to 1, keeps writes that were refused together from being
// sent together again.
func (r Refusals) With(refused Refusal, now time.Time, spread float64) Refusals {
	refused.Tries = 1
	if before := r.of(refused.Write.Key, refused.Generation); before != nil {
		refused.Tries += before.Tries
	}
	wait := min(firstRetry<<min(refused.Tries-1, 10), lastRetry)
	switch {
	case refused.Unanswered && refused.Tries == 1: // the next try may reach another API server
		wait, spread = AgainSoon, 0
	case refused.Unanswered:
		wait = unansweredRetry
	case refused.Rewritten && !refused.Written, refused.Unguarded:
		wait = min(wait, rewrittenRetry)
	}
	refused.Until = now.Add(wait + time.Duration(spread*float64(wait)/5))
	if refused.Written && refused.Tries >= maxWritten {
		refused.Until = time.Time{}
	}
	rest := slices.DeleteFunc(slices.Clone(r), func(o Refusal) bool { return o.Write.Key == refused.Write.Key || o.Generation != refused.Generation })
	return append(rest[max(0, len(rest)-maxRefusals+1):], refused)
}

// After removes the refusal of a write that was accepted, and all of them after a retry was
// requested. Writes that nothing else would send again are due then.
func (r Refusals) After(done Action) Refusals {
	if a, is := done.(Annotate); is && slices.Contains(a.Remove, v1alpha1.RetryAnnotation) {
		return r.due()
	}
	taken := func(o Refusal) bool { return o.Write.Key == WriteOf(done).Key }
	if !slices.ContainsFunc(r, taken) {
		return r
	}
	return slices.DeleteFunc(slices.Clone(r), taken)
}

// due returns the refused records of what was left, to be sent again at once.
func (r Refusals) due() Refusals {
	var due Refusals
	for _, o := range r {
		if o.Left != nil {
			o.Tries, o.Until = 0, time.Unix(0, 0)
			due = append(due, o)
		}
	}
	return due
}

func (r Refusals) of(key string, generation int64) *Refusal {
	i := slices.IndexFunc(r, func(o Refusal) bool { return o.Write.Key == key && o.Generation == generation })
	if i < 0 {
		return nil
	}
	return &r[i]
}

// left returns the refused record of the template that a rollback leaves; nil if there is none, or
// it is kept by now, or spec.template has another template.
func (r Refusals) left(s *snapshot) *RecordRevision {
	for _, o := range r {
		if a := o.Left; a != nil && s.record.rollingBack() && a.Revision == s.record.Rollback.From && (a.Given == "" || a.Given == s.given) &&
			s.history.of(a.Revision) == nil && s.history.withDigest(a.Digest) == nil {
			return a
		}
	}
	return nil
}

// WriteOf names the write of an action. The number of pods does not count: a refusal of 5 holds for
// 4.
func WriteOf(action Action) mover.Name {
	switch a := action.(type) {
	case TakeOver:
		return a.name()
	case HandBack:
		if a.Template == nil {
			return mover.Name{Key: "HandBack", Words: "hand back the workload"}
		}
		return mover.Name{Key: "HandBack" + a.Template.key(), Words: "hand back the workload with " + a.Template.String()}
	case MovePods:
		return a.Write.Name()
	case OpenGate:
		return mover.Name{Key: "CreateGate/" + a.Name, Words: "create Gate " + a.Name}
	case CloseGate:
		return mover.Name{Key: "DeleteGate/" + a.Name, Words: "delete Gate " + a.Name}
	case Annotate:
		return mover.Name{Key: "Annotate" + a.key(), Words: a.String()}
	case RecordRevision:
		return mover.Name{Key: "Keep/" + a.Revision + "/" + string(a.Record.Outcome), Words: a.String()}
	case UpdateRevision:
		return mover.Name{Key: "Mark/" + a.Name + "/" + string(a.Record.Outcome), Words: a.String()}
	case Traffic:
		return mover.Name{Key: a.Write.Key(), Words: a.Write.Words()}
	case Follow:
		return mover.Name{Key: "Follow", Words: a.String()}
	case CopyTemplate:
		return mover.Name{Key: "CopyTemplate/" + a.Digest, Words: a.String()}
	case PruneRevision:
		return mover.Name{Key: "Forget/" + a.Name, Words: a.String()}
	case RetryMember:
		return mover.Name{Key: "RetryMember/" + a.Name, Words: a.String()}
	}
	return mover.Name{Key: action.String(), Words: action.String()} // there is no other
}

func (a TakeOver) name() mover.Name {
	switch {
	case a.AsItIs:
		return mover.Name{Key: "TakeOver:own", Words: "take over the workload with the template that it has"}
	case a.Template == nil:
		return mover.Name{Key: "TakeOver", Words: "restore the fields that hold the workload"}
	default:
		return mover.Name{Key: "TakeOver" + a.Template.key(), Words: "take over the workload with " + a.Template.String()}
	}
}

// key tells where a template comes from.
func (t Template) key() string {
	if t.Given {
		return ":given"
	}
	return "/" + t.Revision
}

// key tells which annotations and finalizer are written.
func (a Annotate) key() string {
	text := ""
	if a.Finalizer != nil {
		text += fmt.Sprintf("/finalizer=%t", *a.Finalizer)
	}
	for _, name := range sortedKeys(a.Set) {
		text += "/" + name + "=" + a.Set[name]
	}
	for _, name := range a.Remove {
		text += "/-" + name
	}
	return text
}

// sameWrite reports whether two recorded refusals are of the same write; the first may be nil.
func sameWrite(before, now *v1alpha1.RefusedWrite) bool {
	return before != nil && before.Key == now.Key
}

// refusedWrite returns the report of the refused write, with the time of an earlier report.
func (d Decision) refusedWrite() v1alpha1.RefusedWrite {
	told := v1alpha1.RefusedWrite{
		Key: bounded(d.refused.Write.Key), Write: bounded(d.refused.Write.Words), Message: bounded(d.refused.Why), Since: *d.snap.time(),
	}
	if before := d.snap.record.RefusedWrite; sameWrite(before, &told) {
		told.Since, told.WaitedSeconds = before.Since, before.WaitedSeconds
	}
	return told
}

// failIfRefused fails a release that a refused write has held up for longer than the progress
// deadline, before its workload is taken over, or while that has a foreign template: no batch's
// clock runs there. A template that is not resolved yet comes first: a rollback must know what was
// given before it.
func failIfRefused(d Decision) Decision {
	if d.refused == nil || d.needs.Any() || stopsProgress(d.snap).any() || d.snap.record.CurrentStepState == v1alpha1.StepBlocking {
		return d
	}
	if !d.snap.record.failed() {
		told, watched := d.refusedWrite(), time.Duration(0)
		if before := &d.snap.release.Status; before.Attempt == d.snap.record.Attempt && sameWrite(before.RefusedWrite, &told) {
			watched = d.snap.obs.Watched.Refusal
		}
		waited, onRecord := addWatched(d.snap, watched, told.WaitedSeconds)
		told.WaitedSeconds = onRecord
		d = d.with(func(r *record) { r.RefusedWrite = &told })
		var late bool
		if d, late = overdue(d, waited); !late {
			return d
		}
		d = fail(d, refusalWords(d.refused))
	}
	d, _ = rollBackFailed(d)
	return d
}

// keepLeftAgain sends the record of what a rollback leaves again, or reports that it is refused,
// once there is nothing else to do: no rollback waits for the history.
func keepLeftAgain(d Decision) Decision {
	if d.statusFirst || len(d.actions) > 0 || d.needs.Any() {
		return d
	}
	left := d.snap.obs.Refusals.left(d.snap)
	if left == nil {
		return d
	}
	again := *left
	again.Number, again.Record.Attempt = d.snap.history.nextNumber(), d.snap.record.Attempt
	return d.do(again)
}

// retryRefused answers the annotation retry by forgetting what was refused, if there is nothing
// else to do: a write that is sent no more is sent again only then.
func retryRefused(d Decision) Decision {
	_, asked := d.snap.release.Annotations[v1alpha1.RetryAnnotation]
	if !asked || d.refused == nil || d.statusFirst || len(d.actions) > 0 {
		return d
	}
	return d.do(Annotate{Reason: retryRecorded, Remove: answered(d.snap.release, v1alpha1.RetryAnnotation)})
}
