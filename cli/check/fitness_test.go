package check

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "because"}
}

// lines returns findings in short.
func lines(findings []Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s %s: %s", f.Grade, f.Subject, f.Text))
	}
	return all
}

// TestSource: the controller's findings on a source are printed, file by file, and a missing
// setting is a warning.
func TestSource(t *testing.T) {
	t.Parallel()
	whole := v1alpha1.ReleaseSourceSpec{Forge: &v1alpha1.Forge{}, WebhookSecretRef: &v1alpha1.LocalReference{}}
	cases := map[string]struct {
		spec   v1alpha1.ReleaseSourceSpec
		status v1alpha1.ReleaseSourceStatus
		want   []string
	}{
		"Well": {whole, v1alpha1.ReleaseSourceStatus{Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSynced),
			condition(v1alpha1.ConditionForgeReady, metav1.ConditionTrue, v1alpha1.ReasonForgeConnected),
		}}, []string{"ok releasesource/shop repository: because", "ok releasesource/shop forge: because"}},
		"Wrong": {whole, v1alpha1.ReleaseSourceStatus{
			Errors: []v1alpha1.FileError{{File: "web.yaml", Line: 3, Message: "unknown field"}, {File: "api.yaml", Message: "too large"}},
			Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonFilesInvalid),
				condition(v1alpha1.ConditionForgeReady, metav1.ConditionFalse, v1alpha1.ReasonForgeRefused),
			},
		}, []string{
			"failed releasesource/shop repository: FilesInvalid: because", "failed releasesource/shop web.yaml:3: unknown field",
			"failed releasesource/shop api.yaml: too large", "failed releasesource/shop forge: ForgeRefused: because",
		}},
		"NotSeen": {v1alpha1.ReleaseSourceSpec{Forge: &v1alpha1.Forge{}}, v1alpha1.ReleaseSourceStatus{}, []string{
			"warning releasesource/shop repository: the controller has not looked at it yet",
			"warning releasesource/shop forge: the controller has not looked at it yet",
			"warning releasesource/shop webhooks: none are received: Git and the forge are polled every 0s",
		}},
		"NoForge": {v1alpha1.ReleaseSourceSpec{}, v1alpha1.ReleaseSourceStatus{Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonSuspended),
		}}, []string{
			"warning releasesource/shop repository: Suspended: because",
			"warning releasesource/shop forge: there is none: pullRequest gates pass by their record on the branch alone, and commits show no progress",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: tc.spec, Status: tc.status}
			if diff := cmp.Diff(tc.want, lines(Source(source))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRelease: obstacles to a release are printed, and its state if there are none.
func TestRelease(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		conditions []metav1.Condition
		want       []string
		unfit      bool
	}{
		"Well":     {nil, []string{"ok batchrelease/web: all pods run"}, false},
		"Stalled":  {[]metav1.Condition{condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidTemplate)}, []string{"failed batchrelease/web: InvalidTemplate: because"}, true},
		"NoRoom":   {[]metav1.Condition{condition(v1alpha1.ConditionPreflightFailed, metav1.ConditionTrue, v1alpha1.ReasonWillNotFit)}, []string{"failed batchrelease/web: WillNotFit: because"}, true},
		"Beyond":   {[]metav1.Condition{condition(v1alpha1.ConditionBeyondStep, metav1.ConditionTrue, v1alpha1.ReasonCameUpdated)}, []string{"warning batchrelease/web: CameUpdated: because"}, false},
		"Warnings": {[]metav1.Condition{condition(v1alpha1.ConditionPreflightFailed, metav1.ConditionFalse, v1alpha1.ReasonWarnings)}, []string{"warning batchrelease/web: Warnings: because"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			release.Status.Phase, release.Status.Message, release.Status.Conditions = v1alpha1.PhaseCompleted, "all pods run", tc.conditions
			findings := Release(release)
			if diff := cmp.Diff(tc.want, lines(findings)); diff != "" || Unfit(findings) != tc.unfit {
				t.Errorf("want unfit %t, -want +got:\n%s", tc.unfit, diff)
			}
		})
	}
}
