package cluster

import "fmt"

// workload is one that is released: the service as a Deployment, a StatefulSet or a DaemonSet.
type workload struct {
	kind string
	// name is that of the workload, of its release, Service and namespace.
	name string
	// size is how many pods it has.
	size int
	// head and tail are its manifest before and after the pod template: %[1]s is a version, %[2]s
	// the name.
	head, tail string
	// strategy is that of its release.
	strategy string
}

var (
	shop = workload{
		kind: "Deployment", name: "shop", size: 6, head: deploymentHead,
		strategy: "{steps: [{replicas: 1, gates: [{none: {}}]}, {replicas: 50%, gates: [{none: {}}]}, {replicas: 100%}]}",
	}
	store = workload{
		kind: "StatefulSet", name: "store", size: 4, head: statefulSetHead, tail: statefulSetTail,
		strategy: "{steps: [{replicas: 1, gates: [{manual: {}}]}, {replicas: 100%}]}",
	}
	// agent has as many pods as there are nodes.
	agent = workload{
		kind: "DaemonSet", name: "agent", head: daemonSetHead,
		strategy: "{steps: [{replicas: 1, gates: [{manual: {}}]}, {replicas: 100%}]}",
	}
)

// manifest returns the workload's as its people have it in Git.
func (w *workload) manifest(version string) []byte {
	return fmt.Appendf(nil, w.head+podTemplate+w.tail, version, w.name)
}

// release returns the manifest of its release.
func (w *workload) release() []byte {
	return fmt.Appendf(nil, `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: %[1]s
spec:
  workloadRef:
    apiVersion: apps/v1
    kind: %[2]s
    name: %[1]s
  strategy: %[3]s
`, w.name, w.kind, w.strategy)
}

// What it takes for no request to be lost is in docs/zero-downtime.md.
const (
	deploymentHead = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[2]s
spec:
  replicas: 6
  selector:
    matchLabels:
      app: %[2]s
  strategy:
    rollingUpdate:
      maxSurge: 2
      maxUnavailable: 0
`
	statefulSetHead = `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: %[2]s
spec:
  replicas: 4
  serviceName: %[2]s
  selector:
    matchLabels:
      app: %[2]s
`
	daemonSetHead = `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: %[2]s
spec:
  selector:
    matchLabels:
      app: %[2]s
`
	podTemplate = `  template:
    metadata:
      labels:
        app: %[2]s
    spec:
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: service
        image: sluice.test/shop:%[1]s
        imagePullPolicy: Never
        readinessProbe:
          httpGet:
            path: /readyz
            port: 8080
          periodSeconds: 1
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        env:
        - name: VERSION
          value: %[1]s
`
	// The volumes are of the default class, or of none.
	statefulSetTail = `        - name: DATA
          value: /data
        volumeMounts:
        - name: data
          mountPath: /data
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: 1Mi
`
)
