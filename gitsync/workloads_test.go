package gitsync

import (
	"fmt"
	"testing"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// volumesText returns a StatefulSet without pods, with volumes of a size.
func volumesText(size string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: 'db:1'}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}}}]
`, size)
}

// TestVolumesOfWhatTheCacheLacks: a StatefulSet that the cache does not have yet is to be created,
// and is there already: its volumes are compared before its release is written.
func TestVolumesOfWhatTheCacheLacks(t *testing.T) {
	t.Parallel()
	c, namespace := cptest.Client(t), cptest.Namespace(t)
	for _, tt := range []struct {
		size    string
		refused bool
	}{{"1Gi", false}, {"2Gi", true}} {
		set := &appsv1.StatefulSet{}
		if err := yaml.Unmarshal([]byte(volumesText("1Gi")), set); err != nil {
			t.Fatal(err)
		}
		set.Namespace = namespace
		if err := c.Create(t.Context(), set); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		const release = "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: db}\n" +
			"spec: {workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, strategy: {steps: [{replicas: 100%}]}}\n"
		content, err := spec.NewReader(spec.Options{Namespace: namespace}).Read(fstest.MapFS{"db.yaml": {Data: []byte(release + "---\n" + volumesText(tt.size))}}, ".")
		if err != nil || len(content.Releases) != 1 {
			t.Fatalf("read %v, %v", content, err)
		}
		source := &v1alpha1.ReleaseSource{}
		source.Namespace, source.Name = namespace, "shop"
		p := &pass{
			observer: observer{live: c}, source: source, memory: newMemories(clock.RealClock{}).make("source"),
			desired:  plan.Desired{Source: source, Content: content},
			observed: plan.Observed{Workloads: map[plan.Workload]bool{}, Claims: map[plan.Workload][]string{}},
			sent:     map[plan.Sent]plan.Fate{},
		}
		next := plan.Next(p.desired, p.observed, plan.Remembered{})
		if len(next.Writes) != 1 {
			t.Fatalf("got writes %v, want one", next.Writes)
		}
		create, is := next.Writes[0].(plan.CreateWorkload)
		if !is {
			t.Fatalf("got write %v, want the StatefulSet created", next.Writes[0])
		}
		if err := p.take(t.Context(), result{write: create, outcome: kube.Outdated{}}); err != nil {
			t.Fatal(err)
		}
		next = plan.Next(p.desired, p.observed, plan.Remembered{Sent: p.sent})
		if refused := len(next.Problems) == 1 && len(next.Writes) == 0; refused != tt.refused {
			t.Errorf("volumes of %s: got problems %v and writes %v, want it refused: %t", tt.size, next.Problems, next.Writes, tt.refused)
		}
	}
}
