package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanClusterComparesVolumes: volume claim templates that Git and the cluster do not share are told with their place, also
// where no commit has changed them.
func TestPlanClusterComparesVolumes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.statefulSet("db", 3)
	text := strings.Replace(plannedKinds, "  replicas: 5\n",
		"  replicas: 3\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]\n", 1)
	tree := newTree(t)
	tree.commit("Second version", text)
	tree.commit("Third version", strings.Replace(text, "db:2", "db:3", 1))
	got := s.ok(viewer, "plan", filepath.Join(tree.root, "deploy"), "--cluster")
	s.want(got, "it is not released: deploy/web.yaml:6: spec.volumeClaimTemplates: Kubernetes does not let them change", "differ from the cluster's (data)")
}
