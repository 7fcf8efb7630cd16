package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// name returns the outcome without the answer.
func name(o kube.Outcome) string { return fmt.Sprintf("%T", o) }

// TestOutcomeOf: a write is sent again only where no other change must come first.
func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	status := func(code int32) error {
		return fmt.Errorf("patch: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: "no"}})
	}
	because := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason}}
	}
	for reason, test := range map[string]struct {
		err  error
		want kube.Outcome
	}{
		"no error":                                {nil, kube.Written{}},
		"another version":                         {because(http.StatusConflict, metav1.StatusReasonConflict), kube.Outdated{}},
		"no such object":                          {because(http.StatusNotFound, metav1.StatusReasonNotFound), kube.Gone{}},
		"there is one already":                    {because(http.StatusConflict, metav1.StatusReasonAlreadyExists), kube.Outdated{}},
		"a webhook's own conflict":                {because(http.StatusConflict, "it is in use"), kube.Refused{}},
		"a webhook finds nothing":                 {status(http.StatusNotFound), kube.Refused{}},
		"a rule is broken":                        {status(http.StatusUnprocessableEntity), kube.Refused{}},
		"a right is missing":                      {status(http.StatusForbidden), kube.Refused{}},
		"admission says no":                       {status(http.StatusBadRequest), kube.Refused{}},
		"the token has run out":                   {status(http.StatusUnauthorized), kube.Failed{}},
		"too much at the moment":                  {status(http.StatusTooManyRequests), kube.Failed{}},
		"a timeout":                               {status(http.StatusRequestTimeout), kube.Failed{}},
		"the API server, or a webhook, is broken": {status(http.StatusInternalServerError), kube.Failed{}},
		"no answer":                               {errors.New("connection reset"), kube.Failed{}},
	} {
		got := kube.OutcomeOf(test.err)
		if name(got) != name(test.want) {
			t.Errorf("%s: got %T, want %T", reason, got, test.want)
		}
		if !errors.Is(kube.Err(got), test.err) {
			t.Errorf("%s: the outcome has the error %v, want %v", reason, kube.Err(got), test.err)
		}
	}
}

type sender = func(context.Context, client.Writer, *corev1.ConfigMap, *corev1.ConfigMap, ...client.PatchOption) kube.Outcome

// TestPatchHoldsForWhatWasObserved: the guards, as a real API server reads them.
func TestPatchHoldsForWhatWasObserved(t *testing.T) {
	t.Parallel()
	c, namespace := cptest.Client(t), cptest.Namespace(t)
	made := func(data string) *corev1.ConfigMap {
		t.Helper()
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}, Data: map[string]string{"by": data}}
		if err := c.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	patch := func(send sender, observed *corev1.ConfigMap, key, value string) (kube.Outcome, *corev1.ConfigMap) {
		wanted := observed.DeepCopy()
		wanted.Data[key] = value
		return send(t.Context(), c, observed, wanted), wanted
	}
	version, anyVersion := kube.Patch[*corev1.ConfigMap], kube.PatchAnyVersion[*corev1.ConfigMap]
	want := func(reason string, got, want kube.Outcome) {
		t.Helper()
		if name(got) != name(want) {
			t.Errorf("%s: got %#v, want %T", reason, got, want)
		}
	}
	first := made("us")
	got, second := patch(version, first, "n", "1")
	want("the version observed", got, kube.Written{})
	if second.ResourceVersion == first.ResourceVersion || second.Data["n"] != "1" {
		t.Errorf("the object is %v, want what the API server answered", second)
	}
	got, _ = patch(version, second, "n", "1")
	want("nothing is different", got, kube.Unchanged{})
	got, kept := patch(version, first, "n", "2")
	want("an older version", got, kube.Outdated{})
	if kept.Data["n"] != "2" || kept.ResourceVersion != first.ResourceVersion {
		t.Errorf("the object is %v, want it left alone", kept)
	}
	got, _ = patch(anyVersion, first, "n", "3")
	want("an older version of the object", got, kube.Written{})
	got, _ = patch(anyVersion, second, "n", string(make([]byte, 2<<20)))
	want("more than an object may hold", got, kube.Refused{})

	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	got, _ = patch(version, second, "n", "4")
	want("the object is gone", got, kube.Gone{})
	another := made("somebody")
	for i, send := range []sender{version, anyVersion} {
		got, _ = patch(send, second, "n", "5")
		want(fmt.Sprintf("another object has the name, guard %d", i), got, kube.Outdated{})
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(another), another); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"by": "somebody"}, another.Data); diff != "" {
		t.Errorf("the other object was written to (-want +got):\n%s", diff)
	}
	got, _ = patch(anyVersion, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}, Data: map[string]string{}}, "n", "6")
	want("an object that was never read", got, kube.Failed{})
}

// TestPatchKeepsAnnotationsThatWereNotObserved: a cache leaves out what kubectl applied last, by
// which it tells later what was taken out of a manifest.
func TestPatchKeepsAnnotationsThatWereNotObserved(t *testing.T) {
	t.Parallel()
	c, namespace := cptest.Client(t), cptest.Namespace(t)
	const mine = v1alpha1.TrafficAnnotation
	observed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "x", Annotations: map[string]string{mine: "{}", corev1.LastAppliedConfigAnnotation: "{}"},
	}}
	if err := c.Create(t.Context(), observed); err != nil {
		t.Fatal(err)
	}
	delete(observed.Annotations, corev1.LastAppliedConfigAnnotation)
	wanted := observed.DeepCopy()
	wanted.Annotations = nil
	if got := kube.Patch(t.Context(), c, observed, wanted); name(got) != name(kube.Written{}) {
		t.Fatalf("got %#v", got)
	}
	if diff := cmp.Diff(map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}, wanted.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// TestStatusHoldsForWhatWasObserved: the same for a status of ours, and a change of it that
// outlasts changes by others.
func TestStatusHoldsForWhatWasObserved(t *testing.T) {
	t.Parallel()
	c, namespace := cptest.Client(t), cptest.Namespace(t)
	made := func() *v1alpha1.ReleaseSource {
		t.Helper()
		s := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		s.Spec.URL, s.Spec.Ref.Branch = "https://git.example/shop", "main"
		if err := c.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	patch := func(observed *v1alpha1.ReleaseSource, releases int32) string {
		wanted := observed.DeepCopy()
		wanted.Status.Releases = releases
		return name(kube.PatchStatus(t.Context(), c, observed, wanted))
	}
	change := func(observed *v1alpha1.ReleaseSource, files int32) string {
		got, outcome := kube.ChangeStatus(t.Context(), c, c, observed, func(s *v1alpha1.ReleaseSource) { s.Status.Files = files })
		return fmt.Sprintf("%s %d", name(outcome), got.Status.Files)
	}
	first := made()
	got := []string{patch(first, 1), patch(first, 2), patch(first, 0), change(first, 3), change(first, 3), change(first, 0)}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(first), first); err != nil || first.Status.Releases != 1 {
		t.Errorf("the status is %+v, %v; want 1 release", first.Status, err)
	}
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	got = append(got, patch(first, 4), change(first, 4))
	another := made()
	got = append(got, patch(first, 5), change(first, 5))
	want := []string{
		"kube.Written", "kube.Outdated", "kube.Unchanged", "kube.Written 3", "kube.Unchanged 3", "kube.Unchanged 0",
		"kube.Gone", "kube.Gone 3", "kube.Outdated", "kube.Gone 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(another), another); err != nil || another.Status.Files+another.Status.Releases != 0 {
		t.Errorf("the status of another object of that name was written: %+v, %v", another.Status, err)
	}
}
