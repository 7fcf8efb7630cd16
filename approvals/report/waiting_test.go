package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// refused returns the release of a commit that stands while Git has another, which can't be
// released.
func refused(commit string, cause v1alpha1.StallCause) *scene {
	s := rolling(good).completed()
	s.release.Generation = 5
	s.release.Annotations[v1alpha1.CommitAnnotation] = commit
	s.release.Status.StalledBy, s.release.Status.ObservedGeneration = cause, 5
	s.release.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
		Message: "the API server refuses spec.template: no containers",
	}}
	return s
}

func (s *scene) toldRefusal(kind v1alpha1.ReportKind, description string) *scene {
	s.release.Status.Refusal = &v1alpha1.ForgeReport{
		Commit: bad, Context: context, State: string(stateOf(kind)), Description: description, Posts: 1, Content: &v1alpha1.ReportContent{Kind: kind},
	}
	return s
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	const (
		why      = "the API server refuses spec.template: no containers"
		released = "900d success released: 10/10 updated to 7f9c"
		template = v1alpha1.StallInvalidTemplate
	)
	tests := map[string]struct {
		scene *scene
		// next is what Next says of the release, refusal the report of the commit that is refused.
		next, refusal []string
	}{
		"another commit is refused": {refused(bad, template), []string{released}, []string{"bad0 failure " + why}},
		"it was told":               {refused(bad, template).toldRefusal(v1alpha1.ReportNotReleasable, why), []string{released}, nil},
		"something else was told":   {refused(bad, template).toldRefusal(v1alpha1.ReportNotReleasable, "no steps"), []string{released}, []string{"bad0 failure " + why}},
		"the first is refused": {
			refused(bad, template).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase, s.Commit = "", "" }), nil, []string{"bad0 failure " + why},
		},
		"what is released is refused":        {refused(good, v1alpha1.StallInvalidStrategy), []string{"900d failure " + why}, nil},
		"it would mix versions":              {refused(good, v1alpha1.StallWouldMixVersions), []string{"900d failure " + why}, nil},
		"no commit":                          {refused("", template), []string{released}, nil},
		"it stands still for another reason": {refused(bad, v1alpha1.StallGateRejected), []string{released}, nil},
		"an earlier spec was refused": {
			refused(bad, template).status(func(s *v1alpha1.BatchReleaseStatus) { s.ObservedGeneration = 4 }), []string{released}, nil,
		},
		"it is refused no more": {
			refused(bad, template).status(func(s *v1alpha1.BatchReleaseStatus) { s.StalledBy = "" }), []string{released}, nil,
		},
		"nothing is refused": {rolling(good).completed(), []string{released}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.next, lines(Next(tc.scene.release, nil, Options{}))); diff != "" {
				t.Errorf("Next(...): -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.refusal, lines(Waiting(tc.scene.release, Options{}))); diff != "" {
				t.Errorf("Waiting(...): -want +got:\n%s", diff)
			}
		})
	}
}

// queued has a commit wait for the release of another.
func (s *scene) queued(commit string) *scene {
	s.release.Annotations[v1alpha1.CommitAnnotation] = commit
	s.release.Status.Queued = &v1alpha1.QueuedTemplate{Commit: commit}
	return s
}

// awaiting has what is queued wait for pods to go.
func (s *scene) awaiting(message string) *scene {
	s.release.Status.Queued.Awaits, s.release.Status.Message = v1alpha1.AwaitedRoom, message
	return s
}

func (s *scene) suspended() *scene {
	meta.SetStatusCondition(&s.release.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonFrozen, Message: "frozen: holidays",
	})
	return s
}

// asked has Git ask for a commit that does not wait.
func (s *scene) asked(commit string) *scene {
	s.release.Annotations[v1alpha1.CommitAnnotation] = commit
	return s
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	const queued = "queued behind 900d900"
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"it waits for another":        {rolling(good).queued(bad), []string{"bad0 pending " + queued}},
		"it waits for pods":           {rolling(good).queued(bad).awaiting("other pods must be deleted first"), []string{"bad0 pending other pods must be deleted first"}},
		"it was told":                 {rolling(good).queued(bad).toldRefusal(v1alpha1.ReportQueued, queued), nil},
		"it waits for two things":     {rolling(good).queued(bad).suspended(), []string{"bad0 pending " + queued + "; waits: frozen: holidays"}},
		"it waits for a freeze":       {rolling(good).completed().queued(bad).suspended(), []string{"bad0 pending waits: frozen: holidays"}},
		"it takes over":               {rolling(bad).toldRefusal(v1alpha1.ReportQueued, queued), nil},
		"a later one takes its place": {rolling(good).queued(fix).toldRefusal(v1alpha1.ReportQueued, queued), []string{"bad0 failure superseded by f1ef1ef before it began", "f1ef pending " + queued}},
		"a later one is released":     {rolling(fix).toldRefusal(v1alpha1.ReportQueued, queued), []string{"bad0 failure superseded by f1ef1ef before it began"}},
		"its end was not seen":        {rolling(fix).ended(bad, "").toldRefusal(v1alpha1.ReportQueued, queued), []string{"bad0 success released: 10/10 updated to 58d4"}},
		"its end was told":            {rolling(fix).toldRefusal(v1alpha1.ReportSuperseded, "superseded by f1ef1ef before it began"), nil},
		"rolled back meanwhile":       {rolling(good).takenBack().asked(bad).toldRefusal(v1alpha1.ReportQueued, queued), []string{"bad0 failure not released: the workload was rolled back to 58d4"}},
		"it asks for what runs":       {rolling(good).completed().asked(bad).toldRefusal(v1alpha1.ReportQueued, queued), []string{"bad0 success nothing to release: revision 7f9c is what it asks for"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, lines(Waiting(tc.scene.release, Options{}))); diff != "" {
				t.Errorf("Waiting(...): -want +got:\n%s", diff)
			}
		})
	}
}
