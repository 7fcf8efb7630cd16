package preview_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// kindOf makes the sample one of another kind; a DaemonSet says nothing of replicas.
func kindOf(kind string, change ...string) files {
	text := strings.NewReplacer(append(change, "kind: Deployment", "kind: "+kind)...).Replace(deployment)
	if kind == "DaemonSet" {
		text = strings.Replace(text, "  replicas: 10\n", "", 1)
	}
	return files{"web/set.yaml": text, "web/release.yaml": strings.Replace(release, "kind: Deployment", "kind: "+kind, 1)}
}

// volumes returns an addition to the spec of a StatefulSet.
func volumes(storage string) string {
	return "spec:\n  updateStrategy: {rollingUpdate: {maxUnavailable: 30%}}\n" +
		"  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: " + storage + "}}}}]\n  replicas"
}

// TestKinds shows what becomes of a StatefulSet and of a DaemonSet.
func TestKinds(t *testing.T) {
	t.Parallel()
	small := kindOf("StatefulSet", "spec:\n  replicas", volumes("1Gi"))
	cases := map[string]struct{ before, after files }{
		"statefulset":         {small, kindOf("StatefulSet", "spec:\n  replicas", volumes("1024Mi"), "1.28", "1.29")},
		"statefulset-volumes": {small, kindOf("StatefulSet", "spec:\n  replicas", volumes("2Gi"))},
		"daemonset":           {kindOf("DaemonSet"), kindOf("DaemonSet", "1.28", "1.29")},
		"daemonset-nodes":     {kindOf("DaemonSet"), kindOf("DaemonSet", "      containers:", "      nodeSelector: {disk: ssd}\n      containers:")},
		"daemonset-added":     {files{}, kindOf("DaemonSet")},
		"fixed":               {small, kindOf("StatefulSet", "spec:\n  replicas", strings.Replace(volumes("1Gi"), "spec:\n", "spec:\n  serviceName: other\n", 1))},
		"another-kind":        {kindOf("DaemonSet"), kindOf("StatefulSet")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			goldenOf(t, shown, name)
		})
	}
}

// TestMeetVolumes: the cluster's volume claim templates are compared with those in Git.
func TestMeetVolumes(t *testing.T) {
	t.Parallel()
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	live := func() *preview.Live {
		set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim}}}
		found := rested()
		found.Workload = &plan.Workload{Name: "web", Replicas: 12, Mover: statefulset.Mover{RollingUpdate: true}}
		found.Release.Spec.WorkloadRef.Kind = "StatefulSet"
		found.Claims, found.Fixed = spec.ClaimsOf(set), new(spec.FixedOf(set))
		return found
	}
	before := kindOf("StatefulSet", "spec:\n  replicas", volumes("1Gi"))
	for name, storage := range map[string]string{"cluster-volumes": "2Gi", "cluster-same-volumes": "1024Mi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := kindOf("StatefulSet", "spec:\n  replicas", volumes(storage), "1.28", "1.29")
			shown, err := preview.Compare(at(t, "a", before), at(t, "b", after), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			if err := shown.Meet(map[types.NamespacedName]*preview.Live{web: live()}, noon); err != nil {
				t.Fatalf("meet: %v", err)
			}
			goldenOf(t, shown, name)
		})
	}
}
