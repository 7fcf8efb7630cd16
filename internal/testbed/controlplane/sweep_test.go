package controlplane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// leftBehind lists objects that a test may leave: pods that crash for ever, workloads that make
// them again, and a release with a finalizer that no controller removes.
const leftBehind = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {simulate.sluice.dev/behaviour: crash-loop}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec:
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec: {containers: [{name: log, image: log}]}
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web, finalizers: [example.com/kept]}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {steps: [{replicas: 100%}]}
`

func TestNothingGoesOnAfterATest(t *testing.T) {
	t.Parallel()
	var namespace string
	t.Run("test", func(t *testing.T) {
		namespace = cptest.Namespace(t)
		file := filepath.Join(t.TempDir(), "left.yaml")
		if err := os.WriteFile(file, []byte(leftBehind), 0o600); err != nil {
			t.Fatal(err)
		}
		cptest.Kubectl(t, "apply", "--namespace", namespace, "-f", file)
		for _, app := range []string{"web", "db", "log"} {
			cptest.Kubectl(t, "wait", "--namespace", namespace, "--for=create", "pods", "--selector=app="+app, "--timeout", within.String())
		}
	})
	cptest.Eventually(t, within, func() error {
		if left := cptest.Kubectl(t, "get", "all,batchreleases", "--namespace", namespace, "--output=name"); left != "" {
			return fmt.Errorf("want nothing left, have\n%s", left)
		}
		return nil
	})
}
