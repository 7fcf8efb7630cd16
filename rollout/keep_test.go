package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/turns"
)

// The Deployment has web:1, and web:2 is given.
const (
	withWeb1 = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","generation":3},
	"spec":{"selector":{"matchLabels":{"app":"web"}},"template":` + web1 + `}}`
	web1 = `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}`
	web2 = `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:2"}]}}`
)

// recorder is an API server that has a Deployment and the ControllerRevisions that were created.
// Its admission refuses what is tried, or makes it something else, and others may set finalizers.
type recorder struct {
	client.Client
	workload  string
	refuses   error
	hangs     bool
	makes     string
	revisions map[string]*appsv1.ControllerRevision
	deletes   int
}

func (c *recorder) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		if c.workload != "" {
			return json.Unmarshal([]byte(c.workload), &into.Object)
		}
	case *appsv1.ControllerRevision:
		if revision := c.revisions[key.Name]; revision != nil {
			revision.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name) // or it is in no cache
}

func (c *recorder) Patch(ctx context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if c.refuses != nil {
		return c.refuses
	}
	answer, template := object.(*unstructured.Unstructured), map[string]any{}
	if err := errors.Join(json.Unmarshal([]byte(withWeb1), &answer.Object), json.Unmarshal([]byte(c.makes), &template)); err != nil {
		return err
	}
	return unstructured.SetNestedMap(answer.Object, template, "spec", "template")
}

func (c *recorder) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if c.revisions[object.GetName()] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
	}
	c.revisions[object.GetName()] = object.(*appsv1.ControllerRevision)
	return nil
}

func (c *recorder) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	c.deletes++
	if revision := c.revisions[object.GetName()]; len(revision.Finalizers) > 0 {
		revision.DeletionTimestamp = new(metav1.Now())
		return nil
	}
	delete(c.revisions, object.GetName())
	return nil
}

// records has a shell record that web:2, which the workload never had, was rolled back, with what
// is kept besides.
func (c *recorder) records(t *testing.T, kept ...plan.Kept) error {
	t.Helper()
	v := seen(t, withWeb1)
	v.release.Name, v.release.Namespace, v.release.UID = "web", "shop", "release-1"
	v.release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	v.release.Spec.Template = &runtime.RawExtension{Raw: []byte(web2)}
	v.facts.Kept = kept
	r := newReconciler(&cluster{client: c, live: c, clock: clock.RealClock{}})
	return shell{r: r, v: v}.Act(t.Context(), []plan.Action{plan.RecordRevision{
		Template: &plan.Template{Given: true}, Revision: "v2", Digest: "as it was resolved", Number: 2,
		Record: plan.Record{Outcome: v1alpha1.OutcomeRolledBack},
	}})
}

func digestOfJSON(t *testing.T, text string) string {
	t.Helper()
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		t.Fatal(err)
	}
	return digestOf(&template)
}

// TestNoAnswerHoldsARollbackUp: a rollback continues whatever the API server answers to the dry
// run of the bad template. Turns continues after these two errors, and decides anew after any
// other.
func TestNoAnswerHoldsARollbackUp(t *testing.T) {
	t.Parallel()
	answer := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: "admission webhook denied the request"}}
	}
	for name, refuses := range map[string]error{
		"refused":                       answer(http.StatusForbidden, metav1.StatusReasonForbidden),
		"invalid":                       answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid),
		"not to be tried":               answer(http.StatusBadRequest, metav1.StatusReasonBadRequest),
		"a conflict, by admission":      answer(http.StatusConflict, metav1.StatusReasonConflict),
		"not found, by admission":       answer(http.StatusNotFound, metav1.StatusReasonNotFound),
		"too many requests":             answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests),
		"the webhook does not answer":   answer(http.StatusInternalServerError, metav1.StatusReasonInternalError),
		"the API server takes too long": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &recorder{workload: withWeb1, refuses: refuses}
			if err := c.records(t); !errors.Is(err, turns.ErrRefused) && !errors.Is(err, turns.ErrUnanswered) {
				t.Errorf("a rollback is held up by %v", err)
			}
		})
	}
	gone := &recorder{refuses: answer(http.StatusNotFound, metav1.StatusReasonNotFound)}
	if err := gone.records(t); !outdated(err) {
		t.Errorf("the workload is gone, and the error is %v, want that it is decided anew", err)
	}
}

// TestSlowAnswerHoldsNoRollbackUp: a webhook that takes its time, or has client-go ask again and
// again, holds a rollback up for seconds.
func TestSlowAnswerHoldsNoRollbackUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := &recorder{workload: withWeb1, hangs: true}
		if err := c.records(t); !errors.Is(err, turns.ErrUnanswered) || time.Since(began) > triedWithin {
			t.Errorf("after %s the error is %v, want that it goes on after %s", time.Since(began), err, triedWithin)
		}
	})
}

// TestWhatIsKeptOfATemplateThatNeverRan: a template that admission turns into the rollback's
// target is not recorded as rolled back. Any other is recorded as admission would make it now.
func TestWhatIsKeptOfATemplateThatNeverRan(t *testing.T) {
	t.Parallel()
	stable := plan.Kept{Name: "web-v1.sluice", Revision: "v1", Digest: digestOfJSON(t, web1), Number: 1, Record: plan.Record{Outcome: v1alpha1.OutcomeAdopted}}
	c := &recorder{workload: withWeb1, makes: web1, revisions: map[string]*appsv1.ControllerRevision{}}
	if err := c.records(t, stable); err != nil || len(c.revisions) != 0 {
		t.Errorf("%d templates are kept, error %v, want none: it comes to the stable one", len(c.revisions), err)
	}
	c.makes = web2
	if err := c.records(t, stable); err != nil {
		t.Fatal(err)
	}
	kept := c.revisions["web-v2.sluice"]
	if kept == nil || digestOfKept(kept) != digestOfJSON(t, web2) || kept.Annotations[v1alpha1.DigestAnnotation] != digestOfJSON(t, web2) {
		t.Errorf("what is kept is %v, want web:2 by its digest", kept)
	}
	if err := c.records(t, stable); err != nil || c.deletes != 0 {
		t.Errorf("recorded again, by a process that has not seen it: %d deleted, error %v, want none", c.deletes, err)
	}
}

// TestRecordInTheWay: an object with the name of a record and other content is deleted once, and
// the next pass records the template. This happens where admission changes the template each time
// and the status was not written after the first record. Where a finalizer keeps the object, the
// record is refused: deleting it in each pass would hold up the rollback.
func TestRecordInTheWay(t *testing.T) {
	t.Parallel()
	inTheWay := func(finalizers ...string) *recorder {
		other := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: "web-v2.sluice", Namespace: "shop", Finalizers: finalizers},
			Data:       runtime.RawExtension{Raw: []byte(web1)},
		}
		return &recorder{workload: withWeb1, makes: web2, revisions: map[string]*appsv1.ControllerRevision{other.Name: other}}
	}
	c := inTheWay()
	if err := c.records(t); !outdated(err) {
		t.Errorf("another record has the name: %v, want that it goes, and that is decided anew", err)
	}
	if err := c.records(t); err != nil || c.deletes != 1 {
		t.Errorf("the name is free: %d deleted, error %v, want one and none", c.deletes, err)
	}
	c = inTheWay("example.com/keep")
	if err := c.records(t); !outdated(err) {
		t.Errorf("another record has the name: %v, want that it goes, and that is decided anew", err)
	}
	for range 3 {
		if err := c.records(t); !errors.Is(err, turns.ErrRefused) || c.deletes != 1 {
			t.Fatalf("a finalizer keeps it: %d deleted, error %v, want one, and that it is refused", c.deletes, err)
		}
	}
}

// TestRecordIsReadAsWritten: the record of a kept template is read as it was written.
func TestRecordIsReadAsWritten(t *testing.T) {
	t.Parallel()
	want := plan.Record{
		Outcome: v1alpha1.OutcomeReleased, Attempt: 3, Commit: "c1", Author: "Ada", Subject: "One", CommittedAt: "2026-03-02T11:00:00Z", Reference: "{}",
		Claimed: true, StartedAt: "2026-03-02T12:00:00Z", ReleasedAt: "2026-03-02T13:00:00Z", ApprovedBy: "Grace", Forced: "manual",
	}
	for _, want := range []plan.Record{want, {}} {
		got := keptFrom(&metav1.ObjectMeta{Annotations: recorded(7, want)})
		if diff := cmp.Diff(want, got.Record); diff != "" || got.Number != 7 {
			t.Errorf("number %d, -written +read:\n%s", got.Number, diff)
		}
	}
}
