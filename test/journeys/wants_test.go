package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// stalls wants the condition Stalled of a release, with a reason and something in its message.
func stalls(name, reason, says string) check {
	return func(s *scene) error {
		release := s.releases[name]
		if release == nil {
			return fmt.Errorf("want release %s", name)
		}
		stalled := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || stalled.Reason != reason || !strings.Contains(stalled.Message, says) {
			return fmt.Errorf("want %s stalled, %s, with %q; have %+v", name, reason, says, stalled)
		}
		return nil
	}
}

func wantStrategy(t *testing.T, s *scene, want *appsv1.Deployment) {
	t.Helper()
	have := s.deployments[want.Name].Spec
	if diff := cmp.Diff(want.Spec.Strategy, have.Strategy); diff != "" {
		t.Errorf("strategy that was handed back (-want +got):\n%s", diff)
	}
	if have.Paused != want.Spec.Paused {
		t.Errorf("paused: handed back with %t, want %t", have.Paused, want.Spec.Paused)
	}
}

// wantAnnotations compares annotations, except that in which the native controller counts.
func wantAnnotations(t *testing.T, s *scene, want *appsv1.Deployment) {
	t.Helper()
	counted := cmp.FilterValues(func(a, b string) bool { return isNumber(a) && isNumber(b) }, cmp.Ignore())
	if diff := cmp.Diff(want.Annotations, s.deployments[want.Name].Annotations, counted); diff != "" {
		t.Errorf("annotations that were handed back (-want +got):\n%s", diff)
	}
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func wantError(t *testing.T, what string, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: want an error that says %q, have %v", what, says, err)
	}
}
