package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// seedDeployment and seedRelease are the manifests of seed 000, word for word but for the API
// group.
const seedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: yuyy-nginx
spec:
  replicas: 10
  selector:
    matchLabels:
      app: yuyy-nginx
  template:
    metadata:
      labels:
        app: yuyy-nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.14.2
        ports:
        - containerPort: 80
`

const seedRelease = `
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: yuyy-nginx
spec:
  workloadRef:
    apiVersion: apps/v1
    kind: Deployment
    name: yuyy-nginx
  strategy:
    steps:
    - replicas: 1
    - replicas: 30%
    - replicas: 100%
  template:
    metadata:
      labels:
        app: yuyy-nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.15  # 更新镜像
        ports:
        - containerPort: 80
`

// The commands of seed 000, word for word.
var (
	seedGet      = []string{"get", "batchrelease", "yuyy-nginx"}
	seedConfirm  = []string{"patch", "batchrelease", "yuyy-nginx", "--type=merge", "--subresource=status", "-p", `{"status":{"currentStepState":"Completed"}}`}
	seedRollback = []string{"annotate", "batchrelease", "yuyy-nginx", "rollback=true"}
)

const nginx subject = "yuyy-nginx"

// columns returns the words of the last line of a table that kubectl printed.
func columns(table string) []string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	return strings.Fields(lines[len(lines)-1])
}

// newSeedWorld has the seed's Deployment running and the controller started.
func newSeedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.judged = []subject{nginx}
	w.startController()
	w.apply(seedDeployment)
	w.await(nginx.serves("nginx:1.14.2", 10))
	return w
}

// wantRow compares what kubectl get batchrelease prints below its header in the columns that the
// seed has.
func (w *world) wantRow(want ...string) {
	w.Helper()
	table := w.kubectl(seedGet...)
	header := strings.Fields(strings.Split(table, "\n")[0])
	if !cmp.Equal(header, []string{"NAME", "PHASE", "INDEX", "STATE", "REASON", "BATCH", "UPDATED", "AGE"}) {
		w.Errorf("kubectl get batchrelease has columns %v", header)
	}
	row := columns(table)
	if diff := cmp.Diff(append([]string{"yuyy-nginx"}, want...), row[:min(len(row), 1+len(want))]); diff != "" {
		w.Errorf("kubectl get batchrelease (-want +got):\n%s", diff)
	}
}

// TestSeedReleaseInBatches: Seed 000, "使用示例": a release in three batches, each confirmed by hand.
func TestSeedReleaseInBatches(t *testing.T) {
	w := newSeedWorld(t)
	w.apply(seedRelease)
	w.await(all(nginx.blocksAt(0), nginx.runs(pods{"nginx:1.14.2": 9, "nginx:1.15": 1})))
	w.wantRow("RollingUpdate", "0", "Blocking", "StepBlocking")
	w.wantGates("manual Waiting")

	w.kubectl(seedConfirm...)
	w.await(all(nginx.blocksAt(1), nginx.runs(pods{"nginx:1.14.2": 7, "nginx:1.15": 3})))
	w.wantRow("RollingUpdate", "1", "Blocking", "StepBlocking")

	w.kubectl(seedConfirm...)
	w.await(all(nginx.completed, nginx.serves("nginx:1.15", 10)))
	w.wantRow("Completed", "2", "Completed", "Completed")
	w.wantStops("1 of 10", "3 of 10")
}

// TestSeedStateMachine: Seed 000, "状态转换示例": [1, 50%, 100%] of ten pods.
func TestSeedStateMachine(t *testing.T) {
	w := newSeedWorld(t)
	w.apply(strings.Replace(seedRelease, "30%", "50%", 1))
	w.await(all(nginx.blocksAt(0), nginx.runs(pods{"nginx:1.14.2": 9, "nginx:1.15": 1})))
	w.kubectl(seedConfirm...)
	w.await(all(nginx.blocksAt(1), nginx.runs(pods{"nginx:1.14.2": 5, "nginx:1.15": 5})))
	w.wantRow("RollingUpdate", "1", "Blocking", "StepBlocking")
	w.wantWide("2/3", "5", "5", "manual")
	w.kubectl(seedConfirm...)
	w.await(all(nginx.completed, nginx.serves("nginx:1.15", 10)))
	w.wantStops("1 of 10", "5 of 10")
}

// TestSeedRollbackDuringRelease: Seed 000, "回滚操作": rolled back in the middle of a release, to what
// ran before it.
func TestSeedRollbackDuringRelease(t *testing.T) {
	w := newSeedWorld(t)
	w.apply(seedRelease)
	w.await(nginx.blocksAt(0))
	w.kubectl(seedConfirm...)
	w.await(all(nginx.blocksAt(1), nginx.runs(pods{"nginx:1.14.2": 7, "nginx:1.15": 3})))

	w.kubectl(seedRollback...)
	w.await(all(nginx.completed, nginx.serves("nginx:1.14.2", 10)))
	w.wantRow("Completed", "1", "Completed", "RolledBack")
	w.wantGates()
	w.wantNoAnnotation("rollback")
}

// TestSeedRollbackAfterRelease: Seed 000, "回滚场景": rolled back after the release, to the version
// before it, and forward again.
func TestSeedRollbackAfterRelease(t *testing.T) {
	w := newSeedWorld(t)
	w.apply(strings.Replace(seedRelease, "    - replicas: 30%\n", "", 1))
	w.await(all(nginx.blocksAt(0), nginx.runs(pods{"nginx:1.14.2": 9, "nginx:1.15": 1})))
	w.kubectl(seedConfirm...)
	w.await(all(nginx.completed, nginx.serves("nginx:1.15", 10)))

	w.kubectl(seedRollback...)
	w.await(all(nginx.reason(v1alpha1.ReasonRolledBack), nginx.serves("nginx:1.14.2", 10)))
	w.wantRow("Completed", "1", "Completed", "RolledBack")
	w.wantNoAnnotation("rollback")

	// What was rolled back is not released again while Git, or whoever applies, says the same.
	w.apply(strings.Replace(seedRelease, "    - replicas: 30%\n", "", 1))
	w.apply(strings.ReplaceAll(seedRelease, "1.15", "1.16"))
	w.await(all(nginx.blocksAt(0), nginx.runs(pods{"nginx:1.14.2": 9, "nginx:1.16": 1})))
}

// wantGates awaits type and decision of what kubectl get gates -A lists of this journey. The
// decision comes after the release has its gate.
func (w *world) wantGates(want ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var got []string
		for line := range strings.SplitSeq(w.kubectl("get", "gates", "-A"), "\n") {
			if fields := strings.Fields(line); len(fields) > 6 && fields[0] == w.namespace {
				got = append(got, fields[5]+" "+fields[6])
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("kubectl get gates -A (-want +got):\n%s", diff)
		}
		return nil
	})
}

// wantWide compares what kubectl get batchrelease -o wide adds, but for commit and age.
func (w *world) wantWide(want ...string) {
	w.Helper()
	fields := columns(w.kubectl(append(seedGet, "-o", "wide")...))
	if diff := cmp.Diff(want, fields[5:min(9, len(fields))]); diff != "" {
		w.Errorf("kubectl get batchrelease -o wide (-want +got):\n%s", diff)
	}
}

// wantStops compares the pods that there were when a step began to wait for its gates.
func (w *world) wantStops(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.findings(w.judged[0]).stops); diff != "" {
		w.Errorf("updated pods of all pods at the stops (-want +got):\n%s", diff)
	}
}

// wantNoAnnotation awaits that no release has the annotation, which is removed after the status is
// written.
func (w *world) wantNoAnnotation(key string) {
	w.Helper()
	w.await(func(s *scene) error {
		for name, release := range s.releases {
			if value, found := release.Annotations[key]; found {
				return fmt.Errorf("BatchRelease %s still has annotation %s=%s", name, key, value)
			}
		}
		return nil
	})
}
