package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
	"github.com/sluice-dev/sluice/test/cluster/clients"
)

// service is a workload under load, which is released from Git.
type service struct {
	*cluster
	workload

	ada   forgetest.User
	clone string // URL of the repository for ada, with her token
}

// beforehand are the objects that are there before there is a release: %[1]s is the name, %[2]s a
// password and %[3]s a repository.
const beforehand = `apiVersion: v1
kind: Namespace
metadata:
  name: %[1]s
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: Service
metadata:
  name: %[1]s
  namespace: %[1]s
spec:
  selector:
    app: %[1]s
  ports:
  - port: 80
    targetPort: 8080
---
apiVersion: v1
kind: Secret
metadata:
  name: git
  namespace: %[1]s
stringData:
  username: sluice
  password: %[2]s
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: ReleaseSource
metadata:
  name: %[1]s
  namespace: %[1]s
spec:
  url: %[3]s
  interval: 1s
  secretRef:
    name: git
`

// start creates a service and puts it under load.
func (c *cluster) start(w workload) *service {
	c.Helper()
	s := c.create(w)
	s.startLoad(loadClients)
	return s
}

// create starts a forge with the service's repository, and has Sluice create the service from it.
func (c *cluster) create(w workload) *service {
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
	seed := fstest.MapFS{"workload.yaml": {Data: w.manifest("v1")}, "release.yaml": {Data: w.release()}}
	repository := w.name + "/releases"
	if err := forge.CreateRepository(c.Context(), repository, "main", seed); err != nil {
		c.Fatal(err)
	}
	tokens := forgetest.Invite(c, forge, repository, "sluice", "ada")
	clone := strings.Replace(forge.CloneURL(repository), "://", "://ada:"+tokens["ada"]+"@", 1)
	s := &service{cluster: c, workload: w, ada: forgetest.As(c, forge, repository, "ada", tokens["ada"]), clone: clone}
	if w.kind == "StatefulSet" {
		s.provideVolumes()
	}
	c.apply(fmt.Sprintf(beforehand, w.name, tokens["sluice"], forge.CloneURL(repository)))
	c.await("v1 serves", s.serves("v1"))
	c.await("v1 is read from Git", func() error { // else the next commit is the first one, and brings no difference
		release, err := s.batchRelease()
		if err == nil && release.Status.ObservedGeneration == 0 {
			err = fmt.Errorf("want its status, have none: %s", s.standing())
		}
		return err
	})
	return s
}

// put commits a version.
func (s *service) put(version string) { s.ada.Put("main", "workload.yaml", s.manifest(version)) }

// serves wants a version in all pods of the service, none of another that is still going away, and
// the workload handed back.
func (s *service) serves(version string) func() error {
	return func() error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(s.kind))
		if err := s.Get(s.Context(), client.ObjectKey{Namespace: s.name, Name: s.name}, object); err != nil {
			return err
		}
		if _, held := object.GetAnnotations()[v1alpha1.HoldAnnotation]; held {
			return fmt.Errorf("want the %s handed back: %s", s.kind, s.standing())
		}
		if have, err := s.running(version); err != nil || have != s.size {
			return fmt.Errorf("want %d pods of %s, have %d (%w)", s.size, version, have, err)
		}
		list, err := s.core.CoreV1().Pods(s.name).List(s.Context(), metav1.ListOptions{LabelSelector: "app=" + s.name})
		if err == nil && len(list.Items) != s.size {
			return fmt.Errorf("want %d pods, there are %d", s.size, len(list.Items))
		}
		return err
	}
}

// waits wants a release to wait at its gate, with one pod of a version, and all others of another.
func (s *service) waits(version, others string) func() error {
	return func() error {
		r, err := s.batchRelease()
		if err != nil {
			return err
		}
		if r.Status.CurrentStepState != v1alpha1.StepBlocking {
			return fmt.Errorf("want the release to wait at its gate: %s", s.standing())
		}
		have, err := s.running(version)
		rest, other := s.running(others)
		if err := errors.Join(err, other); err != nil || have != 1 || rest != s.size-1 {
			return fmt.Errorf("want 1 pod of %s and %d of %s, have %d and %d (%w)", version, s.size-1, others, have, rest, err)
		}
		return nil
	}
}

// answers wants a version to have answered.
func (s *service) answers(version string) func() error {
	return func() error {
		now, err := s.counts()
		if err == nil && now.Versions[version] == 0 {
			return fmt.Errorf("want an answer of %s, got %v", version, now.Versions)
		}
		return err
	}
}

// inMidst wants a release to have so many pods of a version, which are not yet all of them.
func (s *service) inMidst(version string, atLeast int) func() error {
	return func() error {
		have, err := s.running(version)
		if err != nil {
			return err
		}
		if have < atLeast {
			return fmt.Errorf("want at least %d pods of %s, have %d: %s", atLeast, version, have, s.standing())
		}
		if have >= s.size {
			s.Fatalf("all pods are %s already: the release was too fast to do anything in the midst of it", version)
		}
		return nil
	}
}

// running counts the pods of a version that are ready.
func (s *service) running(version string) (int, error) {
	pods, err := s.pods(s.name, "app="+s.name)
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
func (s *service) standing() string {
	r, err := s.batchRelease()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s, step %d %s: %s: %s", r.Status.Phase, r.Status.CurrentStepIndex,
		r.Status.CurrentStepState, r.Status.Reason, r.Status.Message)
}

func (s *service) batchRelease() (*v1alpha1.BatchRelease, error) {
	r := &v1alpha1.BatchRelease{}
	return r, s.Get(s.Context(), client.ObjectKey{Namespace: s.name, Name: s.name}, r)
}

// loadClients is the number of clients of most services.
const loadClients = 8

// startLoad sends requests to the Service from now on, 50 a second from each of so many clients.
func (s *service) startLoad(number int) {
	s.Helper()
	restricted := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: s.name, Labels: map[string]string{"app": "load"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "load", Image: loadImage, ImagePullPolicy: corev1.PullNever, SecurityContext: restricted,
			// By address: there need be no DNS.
			Args: []string{"http://$(" + strings.ToUpper(s.name) + "_SERVICE_HOST)", strconv.Itoa(number)},
		}}},
	}
	if err := s.Create(s.Context(), pod); err != nil {
		s.Fatalf("start load: %v", err)
	}
	s.await("load", func() error {
		now, err := s.counts()
		if err == nil && now.Sent < 100 {
			return fmt.Errorf("%d requests sent", now.Sent)
		}
		return err
	})
}

// counts asks the load what became of its requests.
func (s *service) counts() (clients.Counts, error) {
	var now clients.Counts
	data, err := s.core.CoreV1().Pods(s.name).ProxyGet("http", "load", "8080", "counts", nil).DoRaw(s.Context())
	if err != nil {
		return now, err
	}
	return now, json.Unmarshal(data, &now)
}
