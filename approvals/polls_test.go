package approvals

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPolls: a gate that waits is asked about at most 12 times in an hour by default, and never in
// an hour in which webhooks tell what happens. Webhooks of more than a week ago do not count.
func TestPolls(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		secret  bool
		webhook string
		least   time.Duration
		most    time.Duration
	}{
		"no webhooks":                     {least: 5 * time.Minute, most: 6 * time.Minute},
		"webhooks":                        {secret: true, webhook: now.Add(-time.Hour).Format(time.RFC3339Nano), least: 2 * time.Hour, most: 3 * time.Hour},
		"webhooks that never came":        {secret: true, least: 5 * time.Minute, most: 6 * time.Minute},
		"webhooks that came long ago":     {secret: true, webhook: now.AddDate(0, 0, -8).Format(time.RFC3339Nano), least: 5 * time.Minute, most: 6 * time.Minute},
		"webhooks of the future":          {secret: true, webhook: now.AddDate(1, 0, 0).Format(time.RFC3339Nano), least: 5 * time.Minute, most: 6 * time.Minute},
		"webhooks at a time that is none": {secret: true, webhook: "soon", least: 5 * time.Minute, most: 6 * time.Minute},
		"webhooks that are not taken":     {webhook: now.Format(time.RFC3339Nano), least: 5 * time.Minute, most: 6 * time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &v1alpha1.ReleaseSource{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.WebhookAtAnnotation: tc.webhook}},
				Spec:       v1alpha1.ReleaseSourceSpec{Forge: &v1alpha1.Forge{}},
			}
			if tc.secret {
				source.Spec.WebhookSecretRef = &v1alpha1.LocalReference{Name: "hook"}
			}
			if got := pollAfter(source, now); got < tc.least || got > tc.most {
				t.Errorf("want the next poll after %s to %s, got %s", tc.least, tc.most, got)
			}
		})
	}
}
