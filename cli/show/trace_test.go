package show

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTraceLines: from a pod to the commit on the forge, and to what each gate was passed on.
func TestTraceLines(t *testing.T) {
	t.Parallel()
	w := shop()
	w.Gates[1].Status = v1alpha1.GateStatus{
		Decision: v1alpha1.DecisionPassed, Message: "pull request #12 was merged by grace",
		Evidence: []v1alpha1.Evidence{{
			Kind: "PullRequestMerged", Actor: "grace", URL: "https://github.com/example/shop/pull/12", Time: new(at(time.Hour)),
		}},
	}
	trace := Trace{
		Pod: &w.Pods[2], Version: &w.Sets[2], Workload: w.Workload, Release: w.Release, Gates: w.Gates[1:],
		Source: &v1alpha1.ReleaseSource{
			Spec:   v1alpha1.ReleaseSourceSpec{URL: "https://github.com/example/shop.git", Forge: &v1alpha1.Forge{}},
			Status: v1alpha1.ReleaseSourceStatus{Verified: []v1alpha1.Verification{{Commit: "1"}, {Commit: "2222222222", Signer: "ada@example.com", Key: "SHA256:abc"}}},
		},
		Kept: &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				v1alpha1.OutcomeAnnotation: string(v1alpha1.OutcomeReleased), v1alpha1.ReleasedAtAnnotation: "2026-11-21T11:00:00Z",
				v1alpha1.CommitAnnotation: "2222222222", v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: "web: version 2",
				v1alpha1.ApprovedByAnnotation: "ada, grace", v1alpha1.AttemptAnnotation: "3",
				v1alpha1.ReferenceAnnotation: `{"sha":"abc1234567","author":"Grace","subject":"Fix the checkout"}`,
			}},
			Revision: 7,
		},
	}
	want := []string{
		"Pod:          web-new-d, made 5m ago",
		"ReplicaSet:   web-new",
		"Images:       web:new",
		"Deployment:   web",
		"Release:      web",
		"Revision:     new, number 7",
		"Outcome:      Released, 60m ago",
		"Commit:       2222222222",
		"URL:          https://github.com/example/shop/commit/2222222222",
		"Author:       Ada",
		"Subject:      web: version 2",
		"Signed by:    ada@example.com, key SHA256:abc",
		"Made from:    abc1234 Fix the checkout, by Grace",
		"Approved by:  ada, grace",
		"Gate after batch 1, manual: confirmed by ada",
		"Gate after batch 2, pullRequest: pull request #12 was merged by grace",
		"  PullRequestMerged by grace, 2026-11-21T11:00:00Z https://github.com/example/shop/pull/12",
	}
	if diff := cmp.Diff(want, trace.Lines(noon)); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	trace.Release.Spec.Train = "platform"
	if got := trace.Lines(noon); !slices.Contains(got, "Train:        platform, which asks for its gates: sluice get platform") {
		t.Errorf("want the train named whose gates passed, got %q", got)
	}
	trace.Release, trace.Kept, trace.Pod = nil, nil, nil
	if diff := cmp.Diff([]string{
		"ReplicaSet:   web-new", "Images:       web:new", "Deployment:   web",
		"Release:      none: the Deployment is not released by Sluice", "Revision:     new",
	}, trace.Lines(noon)); diff != "" {
		t.Errorf("trace of what is not released (-want +got):\n%s", diff)
	}
}

// TestEvents: the events of the release and all its objects are listed, also of deleted pods,
// oldest first, and no others.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := shop()
	event := func(ago time.Duration, reason string, of corev1.ObjectReference) corev1.Event {
		return corev1.Event{LastTimestamp: at(ago), Reason: reason, InvolvedObject: of}
	}
	events := []corev1.Event{
		event(time.Minute, "Killing", corev1.ObjectReference{Kind: "Pod", Name: "web-old-gone"}),
		event(time.Hour, "StepBlocking", corev1.ObjectReference{Kind: "BatchRelease", Name: "web", UID: "release"}),
		event(time.Hour, "Before", corev1.ObjectReference{Kind: "BatchRelease", Name: "web", UID: "an earlier one"}),
		event(time.Minute, "Other", corev1.ObjectReference{Kind: "Pod", Name: "api-1"}),
		{EventTime: metav1.NewMicroTime(noon.Add(-2 * time.Minute)), Reason: "Scaled", InvolvedObject: corev1.ObjectReference{Kind: "ReplicaSet", Name: "web-new", UID: "new"}},
	}
	for i, reason := range []string{"Later", "Sooner"} { // in the same second, named against their order
		e := event(30*time.Minute, reason, corev1.ObjectReference{Kind: "BatchRelease", Name: "web", UID: "release"})
		e.ResourceVersion, e.Name = strconv.Itoa(1000-i*900), strconv.Itoa(i)
		events = append(events, e)
	}
	var got []any
	for _, row := range Events(w, events, noon).Rows {
		got = append(got, row.Cells[0], row.Cells[2], row.Cells[3])
	}
	want := []any{
		"60m", "StepBlocking", "batchrelease/web", "30m", "Sooner", "batchrelease/web", "30m", "Later", "batchrelease/web", "2m", "Scaled", "replicaset/web-new", "60s", "Killing", "pod/web-old-gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
