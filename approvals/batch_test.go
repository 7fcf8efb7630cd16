package approvals

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPodsOfKinds: each native controller labels pods with the revision in its own way.
func TestPodsOfKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]updatedPods{
		"Deployment":  {client.MatchingLabels{"pod-template-hash": "5c66667f6"}, "ReplicaSet", "db-5c66667f6"},
		"StatefulSet": {client.MatchingLabels{"controller-revision-hash": "db-5c66667f6"}, "StatefulSet", "db"},
		"DaemonSet":   {client.MatchingLabels{"controller-revision-hash": "5c66667f6"}, "DaemonSet", "db"},
	} {
		got := podsOf(v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: kind, Name: "db"}, "5c66667f6")
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(updatedPods{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
