package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPodsOfKinds: each native controller labels pods with the revision in its own way.
func TestPodsOfKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]Pods{
		Deployment:  {map[string]string{"pod-template-hash": "5c66667f6"}, "ReplicaSet", "db-5c66667f6"},
		StatefulSet: {map[string]string{"controller-revision-hash": "db-5c66667f6"}, "StatefulSet", "db"},
		DaemonSet:   {map[string]string{"controller-revision-hash": "5c66667f6"}, "DaemonSet", "db"},
	} {
		if diff := cmp.Diff(want, Named(kind).Pods("db", "5c66667f6")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
