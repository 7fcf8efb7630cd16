package cluster

import (
	"encoding/json"
	"fmt"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// replicas is the number of the service's pods.
const replicas = 6

// manifests of the service, as its people have them in Git. What it takes for no request to be
// lost is in docs/zero-downtime.md.
const (
	shopDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  replicas: 6
  selector:
    matchLabels:
      app: shop
  strategy:
    rollingUpdate:
      maxSurge: 2
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app: shop
    spec:
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: shop
        image: sluice.test/shop:%[1]s
        imagePullPolicy: Never
        env:
        - name: VERSION
          value: %[1]s
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
`
	shopRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: shop
spec:
  workloadRef:
    apiVersion: apps/v1
    kind: Deployment
    name: shop
  strategy:
    steps:
    - replicas: 1
      gates:
      - none: {}
    - replicas: 50%
      gates:
      - none: {}
    - replicas: 100%
`
)

// cluster objects that are there before there is a release.
const (
	shopService = `apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: shop
spec:
  selector:
    app: shop
  ports:
  - port: 80
    targetPort: 8080
---
apiVersion: v1
kind: Secret
metadata:
  name: git
  namespace: shop
stringData:
  username: sluice
  password: %s
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: ReleaseSource
metadata:
  name: shop
  namespace: shop
spec:
  url: %s
  interval: 1s
  secretRef:
    name: git
`
	repository = "shop/releases"
)

// startShop starts a forge with the service's repository, and has Sluice release from it.
func (c *cluster) startShop() forgetest.User {
	c.Helper()
	forge, err := devforge.Start(c.Context(), devforge.Options{Dir: c.TempDir(), Host: c.host})
	if err != nil {
		c.Fatalf("start forge: %v", err)
	}
	c.Cleanup(func() {
		if err := forge.Close(); err != nil {
			c.Errorf("close forge: %v", err)
		}
	})
	seed := fstest.MapFS{
		"deployment.yaml": {Data: fmt.Appendf(nil, shopDeployment, "v1")},
		"release.yaml":    {Data: []byte(shopRelease)},
	}
	if err := forge.CreateRepository(c.Context(), repository, "main", seed); err != nil {
		c.Fatal(err)
	}
	tokens := forgetest.Invite(c, forge, repository, "sluice", "ada")
	c.apply(fmt.Sprintf(shopService, tokens["sluice"], forge.CloneURL(repository)))
	return forgetest.As(c, forge, repository, "ada", tokens["ada"])
}

func deploymentFile(version string) []byte { return fmt.Appendf(nil, shopDeployment, version) }

// serves wants a version in all pods of the service, none of another that is still going away, and the
// Deployment handed back.
func (c *cluster) serves(version string) func() error {
	return func() error {
		d := &appsv1.Deployment{}
		if err := c.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, d); err != nil {
			return err
		}
		if _, held := d.Annotations[v1alpha1.HoldAnnotation]; held || d.Spec.Paused {
			return fmt.Errorf("want the Deployment handed back: %s", c.standing())
		}
		if have, err := c.running(version); err != nil || have != replicas {
			return fmt.Errorf("want %d pods of %s, have %d (%w)", replicas, version, have, err)
		}
		list, err := c.core.CoreV1().Pods(namespace).List(c.Context(), metav1.ListOptions{LabelSelector: "app=shop"})
		if err == nil && len(list.Items) != replicas {
			return fmt.Errorf("want %d pods, there are %d", replicas, len(list.Items))
		}
		return err
	}
}

// inMidst wants a release to have so many pods of a version, which are not yet all of them.
func (c *cluster) inMidst(version string, atLeast int) func() error {
	return func() error {
		have, err := c.running(version)
		if err != nil {
			return err
		}
		if have < atLeast {
			return fmt.Errorf("want at least %d pods of %s, have %d: %s", atLeast, version, have, c.standing())
		}
		if have >= replicas {
			c.Fatalf("all pods are %s already: the release was too fast to do anything in the midst of it", version)
		}
		return nil
	}
}

// running counts the pods of a version that are ready.
func (c *cluster) running(version string) (int, error) {
	pods, err := c.pods(namespace, "app=shop")
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range pods {
		if isReady(&pods[i]) && pods[i].Spec.Containers[0].Image == shopImage+version {
			count++
		}
	}
	return count, nil
}

// standing tells where the release stands.
func (c *cluster) standing() string {
	r := &v1alpha1.BatchRelease{}
	if err := c.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, r); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s, step %d %s: %s: %s", r.Status.Phase, r.Status.CurrentStepIndex,
		r.Status.CurrentStepState, r.Status.Reason, r.Status.Message)
}

// counts is what the load says of its requests.
type counts struct {
	Sent, Failed int
	Failures     []string
	Versions     map[string]int
}

// startLoad sends requests to the Service from now on.
func (c *cluster) startLoad() {
	c.Helper()
	restricted := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: namespace, Labels: map[string]string{"app": "load"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "load", Image: loadImage, ImagePullPolicy: corev1.PullNever, SecurityContext: restricted,
			Args: []string{"http://$(SHOP_SERVICE_HOST)"}, // by address: there need be no DNS
		}}},
	}
	if err := c.Create(c.Context(), pod); err != nil {
		c.Fatalf("start load: %v", err)
	}
	c.await("load", func() error {
		now, err := c.counts()
		if err == nil && now.Sent < 100 {
			return fmt.Errorf("%d requests sent", now.Sent)
		}
		return err
	})
}

// counts asks the load what became of its requests.
func (c *cluster) counts() (counts, error) {
	var now counts
	data, err := c.core.CoreV1().Pods(namespace).ProxyGet("http", "load", "8080", "counts", nil).DoRaw(c.Context())
	if err != nil {
		return now, err
	}
	return now, json.Unmarshal(data, &now)
}
