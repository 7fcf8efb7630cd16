package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Refusal is a write of the plan that failed because of its content, not its time: the API server, or
// admission, refuses it, or changes it to something else. Sending it again at once is of no use.
type Refusal struct {
	// Write is WriteOf the action.
	Write string
	// Why is what the API server says.
	Why string
	// Generation is that of the release when it was refused: another spec may fix it.
	Generation int64
	// Rewritten says that the result of the write differs from what it asks for, and Written that an object has
	// changed for it.
	Rewritten, Written bool
	// Tries counts how often it was sent for this generation.
	Tries int
	// Until is when to send it again; zero is not before something else is asked.
	Until time.Time
}

// Refusals are those that a process knows of. The zero value is none.
type Refusals []Refusal

const (
	// firstRetry and lastRetry are after how long a refused write is sent again, the first time and in the end: a
	// policy, a quota or a right may have changed, which no watch shows.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	// maxWritten is how often a write is sent that changes an object to something else than what it asks for.
	maxWritten = 3
	// maxRefusals is how many are remembered.
	maxRefusals = 32
)

// With adds a new refusal. The spread, from 0 to 1, keeps writes that were refused together from
// being sent together again.
func (r Refusals) With(refused Refusal, now time.Time, spread float64) Refusals {
	refused.Tries = 1
	if before := r.of(refused.Write, refused.Generation); before != nil {
		refused.Tries += before.Tries
	}
	wait := min(firstRetry<<min(refused.Tries-1, 10), lastRetry)
	refused.Until = now.Add(wait + time.Duration(spread*float64(wait)/5))
	if refused.Written && refused.Tries >= maxWritten {
		refused.Until = time.Time{}
	}
	rest := slices.DeleteFunc(slices.Clone(r), func(o Refusal) bool { return o.Write == refused.Write || o.Generation != refused.Generation })
	return append(rest[max(0, len(rest)-maxRefusals+1):], refused)
}

// After forgets the refusal of a write that was accepted; and all of them once somebody has requested a retry.
func (r Refusals) After(done Action) Refusals {
	if a, is := done.(Annotate); is && slices.Contains(a.Remove, v1alpha1.RetryAnnotation) {
		return nil
	}
	taken := func(o Refusal) bool { return o.Write == WriteOf(done) }
	if !slices.ContainsFunc(r, taken) {
		return r
	}
	return slices.DeleteFunc(slices.Clone(r), taken)
}

func (r Refusals) of(write string, generation int64) *Refusal {
	i := slices.IndexFunc(r, func(o Refusal) bool { return o.Write == write && o.Generation == generation })
	if i < 0 {
		return nil
	}
	return &r[i]
}

// WriteOf says which write an action is, in words that follow "to". How many pods it is about does not count: a
// refusal of 5 is taken for one of 4.
func WriteOf(action Action) string {
	switch a := action.(type) {
	case TakeOver:
		if a.Template == nil {
			return "put back what says that the Deployment is taken over"
		}
		return "take over the Deployment with " + a.Template.String()
	case HandBack:
		return strings.Replace(a.String(), "hand back", "hand back the Deployment", 1)
	case MovePods:
		return a.Write.Name()
	case OpenGate:
		return "create Gate " + a.Name
	case CloseGate:
		return "delete Gate " + a.Name
	case Annotate, RecordRevision, UpdateRevision, PruneRevision:
	}
	return action.String()
}

// refusedWrite is what to report of the write that is refused: since when, and how long that was watched, if it was reported
// already.
func (d Decision) refusedWrite() v1alpha1.RefusedWrite {
	told := v1alpha1.RefusedWrite{Write: bounded(d.refused.Write), Message: bounded(d.refused.Why), Since: *d.time()}
	if before := d.record.RefusedWrite; before != nil && before.Write == told.Write {
		told.Since, told.WaitedSeconds = before.Since, before.WaitedSeconds
	}
	return told
}

// failIfRefused fails a release that a refused write has held up for longer than the progress deadline before its
// workload is taken over, or while somebody else's template is in it: the clock of a batch does not run there.
func failIfRefused(d Decision) Decision {
	if d.refused == nil || d.stopped().any() || d.record.CurrentStepState == v1alpha1.StepBlocking {
		return d
	}
	if !d.failed() {
		told, watched := d.refusedWrite(), time.Duration(0)
		if before := d.Release.Status.RefusedWrite; before != nil && before.Write == told.Write {
			watched = d.Watched.Refusal
		}
		waited, onRecord := d.waited(watched, told.WaitedSeconds)
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
