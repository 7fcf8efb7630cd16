package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// rewritten has the branch be at a head that does not descend from what was read.
func rewritten(status v1alpha1.ReleaseSourceStatus, head string) v1alpha1.ReleaseSourceStatus {
	status.RefusedHead = head
	return status
}

func TestSync(t *testing.T) {
	t.Parallel()
	const syncContext = "sluice/berlin/sync"
	wrong := v1alpha1.FileError{File: "deploy/web.yaml", Line: 12, Message: `unknown field "replica"`}
	read := func(errors ...v1alpha1.FileError) v1alpha1.ReleaseSourceStatus {
		return v1alpha1.ReleaseSourceStatus{ObservedCommit: good, Files: 7, Errors: errors, ErrorCount: int32(len(errors))}
	}
	told := func(status v1alpha1.ReleaseSourceStatus, commit string, state forge.State, description string) v1alpha1.ReleaseSourceStatus {
		status.Report = &v1alpha1.ForgeReport{Commit: commit, Context: syncContext, State: string(state), Description: description, Posts: 1}
		return status
	}
	many := read(wrong)
	many.ErrorCount = 60
	uncounted := read()
	uncounted.ErrorCount = 2
	const mistake = `deploy/web.yaml:12: unknown field "replica"`
	tests := map[string]struct {
		status v1alpha1.ReleaseSourceStatus
		want   []string
	}{
		"nothing read":            {v1alpha1.ReleaseSourceStatus{Errors: []v1alpha1.FileError{wrong}}, nil},
		"all is well":             {read(), nil},
		"a bad file":              {read(wrong), []string{"900d failure " + mistake}},
		"several":                 {read(wrong, wrong), []string{"900d failure 2 errors: " + mistake}},
		"more than are kept":      {many, []string{"900d failure 60 errors: " + mistake}},
		"none is kept":            {uncounted, []string{"900d failure 2 errors"}},
		"no line":                 {read(v1alpha1.FileError{File: "a.yaml", Message: "too large"}), []string{"900d failure a.yaml: too large"}},
		"told":                    {told(read(wrong), good, forge.StateFailure, mistake), nil},
		"another mistake":         {told(read(wrong), good, forge.StateFailure, "a.yaml:1: no YAML"), []string{"900d failure " + mistake}},
		"another commit":          {told(read(wrong), fix, forge.StateFailure, mistake), []string{"900d failure " + mistake}},
		"it is well after all":    {told(read(), good, forge.StateFailure, mistake), []string{"900d success all 7 files can be read"}},
		"it is well, told":        {told(read(), good, forge.StateSuccess, "all 7 files can be read"), nil},
		"the next commit is well": {told(read(), fix, forge.StateFailure, mistake), nil},
		"a head that is not followed": {rewritten(read(), bad), []string{
			"bad0 failure not released: the branch was rewritten, this does not descend from 900d900: push that again, or set spec.allowRewrite of ReleaseSource shop",
		}},
		"it is followed after all": {told(read(), good, forge.StateFailure, "not released: the branch was rewritten"), []string{"900d success all 7 files can be read"}},
		"it is well under a new name": {func() v1alpha1.ReleaseSourceStatus {
			s := told(read(), good, forge.StateFailure, mistake)
			s.Report.Context = "sluice/sync"
			return s
		}(), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, due := Sync(&v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: tc.status}, Options{Cluster: "berlin"})
			var got []string
			if due {
				got = lines([]Post{request})
			}
			for i := range tc.want {
				tc.want[i] += " in " + syncContext
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Sync(...): -want +got:\n%s", diff)
			}
		})
	}
}

func TestDeployment(t *testing.T) {
	t.Parallel()
	deployedAs := func(s *scene, task string) *scene {
		s.told(s.release.Status.Commit, toldUpdating, "batch 2/4: updating")
		s.release.Status.Report.DeploymentTask = task
		return s
	}
	tests := map[string]struct {
		scene       *scene
		task        string
		state       forge.DeploymentState
		description string
		ok          bool
	}{
		"rolling":   {rolling(good), "sluice:shop/web:3", forge.DeploymentInProgress, "releasing revision 7f9c", true},
		"blocked":   {rolling(good).blockedOn(approval()), "sluice:shop/web:3", forge.DeploymentInProgress, "releasing revision 7f9c", true},
		"completed": {rolling(good).completed(), "sluice:shop/web:3", forge.DeploymentSuccess, "released: 10/10 updated to 7f9c", true},
		"failed":    {rolling(good).failed("batch 2/4: no progress"), "sluice:shop/web:3", forge.DeploymentFailure, "batch 2/4: no progress", true},
		"rejected": {rolling(good).status(func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.Message = v1alpha1.StateRejected, "batch 2/4: gate web was rejected"
		}), "sluice:shop/web:3", forge.DeploymentFailure, "batch 2/4: gate web was rejected", true},
		"not begun": {rolling(good).status(func(s *v1alpha1.BatchReleaseStatus) { s.StepStartedAt = nil }), "sluice:shop/web:3", "", "", false},
		"no commit": {rolling(""), "sluice:shop/web:3", forge.DeploymentInProgress, "releasing revision 7f9c", false},
		"reverted":  {rolling(fix).reverted(), "sluice:shop/web:4", forge.DeploymentInProgress, "releasing revision 58d4", true},
		"taken back": {
			deployedAs(rolling(bad), "sluice:shop/web:3@"+bad).takenBack(),
			"sluice:shop/web:3", forge.DeploymentFailure, "rolling back to 58d4: asked for at batch 2/4", true,
		},
		"taken back, never deployed":   {rolling(bad).takenBack(), "", forge.DeploymentFailure, "rolling back to 58d4: rollback=true was requested", false},
		"taken back, another deployed": {deployedAs(rolling(bad), "sluice:shop/web:3@"+good).takenBack(), "sluice:shop/web:3@" + good, forge.DeploymentFailure, "rolling back to 58d4: asked for at batch 2/4", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, state, description, ok := Deployment(tc.scene.release, "production")
			want := forge.DeploymentRequest{
				SHA: tc.scene.release.Status.Commit, Task: tc.task, Environment: "production", Description: "release shop/web",
			}
			if diff := cmp.Diff(want, request); diff != "" {
				t.Errorf("request: -want +got:\n%s", diff)
			}
			if state != tc.state || description != tc.description || ok != tc.ok {
				t.Errorf("got %s %q %t, want %s %q %t", state, description, ok, tc.state, tc.description, tc.ok)
			}
		})
	}
}
