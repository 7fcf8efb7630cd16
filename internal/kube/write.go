package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Outcome says what became of a write: Written, Unchanged, Outdated, Gone, Refused or Failed, and
// nothing else.
//
//sumtype:decl
type Outcome interface{ outcome() }

type (
	// Written says that the API server took it.
	Written struct{}
	// Unchanged says that there was nothing to write, and that no request was sent.
	Unchanged struct{}
	// Outdated says that the object is not what the write was decided on. Drop the decision and decide
	// again.
	Outdated struct{ Err error }
	// Gone says that there is no such object any more.
	Gone struct{ Err error }
	// Refused says that the API server refuses what the write says, and will refuse it again until
	// somebody changes something: it breaks a rule, a right is missing, a quota is used up, or
	// admission says no.
	Refused struct{ Err error }
	// Failed says that nobody can tell whether the API server took it. Observe, and try again.
	Failed struct{ Err error }
)

func (Written) outcome()   {}
func (Unchanged) outcome() {}
func (Outdated) outcome()  {}
func (Gone) outcome()      {}
func (Refused) outcome()   {}
func (Failed) outcome()    {}

// Err returns the API server's answer to a failed write; nil if it succeeded, or if there was
// nothing to write.
func Err(o Outcome) error {
	switch o := o.(type) {
	case Written, Unchanged:
		return nil
	case Outdated:
		return o.Err
	case Gone:
		return o.Err
	case Refused:
		return o.Err
	case Failed:
		return o.Err
	}
	return nil
}

// OutcomeOf classifies the answers of the API server. A failed Test of a JSONPatch is answered like
// a refusal: its sender reads the object again to distinguish the two.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Written{}
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return Failed{err}
	}
	switch code := status.Status().Code; {
	case denied(status.Status()):
		return Refused{err}
	case code == http.StatusNotFound:
		return Gone{err}
	case code == http.StatusConflict, anotherObject(status.Status()):
		return Outdated{err}
	case slices.Contains(later, code):
		return Failed{err}
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError:
		return Refused{err}
	default:
		return Failed{err}
	}
}

// later are codes that say that the same request may succeed later.
var later = []int32{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests}

// denied reports whether a webhook denied a write with a code that the API server itself uses,
// always with a reason.
func denied(answer metav1.Status) bool {
	switch answer.Code {
	case http.StatusNotFound:
		return answer.Reason != metav1.StatusReasonNotFound
	case http.StatusConflict:
		return answer.Reason != metav1.StatusReasonConflict && answer.Reason != metav1.StatusReasonAlreadyExists
	}
	return false
}

// Unanswered reports whether the API server, or a proxy before it, fails at a request, takes too
// long or wants to be asked later. For a write that may be because a webhook does not answer, which
// the API server says in words alone, or because a webhook or policy says no by such a code.
func Unanswered(err error) bool {
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || slices.Contains(later, code)
	}
	failed := net.Error(nil)
	return errors.As(err, &failed) && failed.Timeout()
}

// longestBackOff is the longest time between two tries at an object after errors, however many
// there were.
const longestBackOff = 10 * time.Second

// BackOff delays the next try at an object after an error: by 5 ms at first, by longestBackOff in
// the end.
func BackOff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestBackOff)
}

// Patch sends the difference between an object as it was observed and as it is to be. It holds only
// for the version that was observed. The object is as the API server answered once it is Written;
// otherwise it is left alone.
func Patch[T client.Object](ctx context.Context, to client.Writer, observed, wanted T, opts ...client.PatchOption) Outcome {
	return patch(ctx, to, difference{sameVersion, observed, wanted}, opts...)
}

// PatchAnyVersion returns Patch for fields that nobody else writes and that stay true whatever else
// changes: it holds for any version of the object that was observed, and for no other object of its
// name.
func PatchAnyVersion[T client.Object](ctx context.Context, to client.Writer, observed, wanted T, opts ...client.PatchOption) Outcome {
	return patch(ctx, to, difference{sameObject, observed, wanted}, opts...)
}

func patch(ctx context.Context, to client.Writer, d difference, opts ...client.PatchOption) Outcome {
	data, err := d.patch()
	if err != nil || data == nil {
		return unsent(err)
	}
	return OutcomeOf(to.Patch(ctx, d.wanted, data, opts...))
}

// PatchStatus returns Patch for the status of an object, in the version that was observed. (The API
// server does not look at the UID in a patch of a status.)
func PatchStatus[T client.Object](ctx context.Context, to client.StatusClient, observed, wanted T, opts ...client.SubResourcePatchOption) Outcome {
	patch, err := difference{sameVersion, observed, wanted}.patch()
	if err != nil || patch == nil {
		return unsent(err)
	}
	return OutcomeOf(to.Status().Patch(ctx, wanted, patch, opts...))
}

// changes is how often ChangeStatus tries while others write to the object.
const changes = 5

// ChangeStatus changes fields of a status that nobody else writes and that stay true whatever else
// changes: where the object has another version by now it is read and changed again. The object
// that it returns is as the API server answered, or the one observed if nothing was written. An
// object that another one has taken the name of is Gone.
func ChangeStatus[T client.Object](ctx context.Context, to client.StatusClient, live client.Reader, observed T, change func(T)) (T, Outcome) {
	latest := observed
	for try := 1; ; try++ {
		wanted := latest.DeepCopyObject().(T)
		change(wanted)
		outcome := PatchStatus(ctx, to, latest, wanted)
		switch outcome.(type) {
		case Written:
			return wanted, outcome
		case Unchanged:
			return latest, outcome
		case Gone, Refused, Failed:
			return observed, outcome
		case Outdated:
			if try == changes {
				return observed, outcome
			}
		}
		latest = latest.DeepCopyObject().(T)
		if err := live.Get(ctx, client.ObjectKeyFromObject(observed), latest); err != nil {
			return observed, OutcomeOf(err)
		}
		if latest.GetUID() != observed.GetUID() {
			return observed, Gone{Err(outcome)}
		}
	}
}

func unsent(err error) Outcome {
	if err != nil {
		return Failed{err}
	}
	return Unchanged{}
}

// guard says of what a patch holds.
type guard int

const (
	sameVersion guard = iota
	sameObject
)

// difference holds an object as observed and as wanted.
type difference struct {
	guard            guard
	observed, wanted client.Object
}

// patch returns a merge patch (RFC 7386) with its guard; nil if there is no difference.
func (d difference) patch() (client.Patch, error) {
	name := fmt.Sprintf("%T %s", d.observed, client.ObjectKeyFromObject(d.observed))
	data, err := client.MergeFrom(d.observed).Data(d.wanted)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", name, err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("read patch: %w", err)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	if d.observed.GetUID() == "" || d.observed.GetResourceVersion() == "" {
		return nil, fmt.Errorf("patch %s: it was not read, and has no version to guard the patch by", name)
	}
	meta, _ := fields["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	fields["metadata"] = meta
	if annotations, changed := meta["annotations"]; changed && annotations == nil {
		meta["annotations"] = noneOf(d.observed.GetAnnotations())
	}
	switch d.guard {
	case sameObject:
		meta["uid"] = d.observed.GetUID()
	case sameVersion: // no two objects of a kind ever have the same one
		meta["resourceVersion"] = d.observed.GetResourceVersion()
	}
	if data, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// noneOf takes each of some annotations away. Others stay: the API server may have some that the
// cache leaves out, such as what kubectl applied last.
func noneOf(annotations map[string]string) map[string]any {
	none := map[string]any{}
	for key := range annotations {
		none[key] = nil
	}
	return none
}

// anotherObject reports whether a patch was refused because it would change the UID: the name has
// another object by now.
func anotherObject(answer metav1.Status) bool {
	return answer.Details != nil &&
		slices.ContainsFunc(answer.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
