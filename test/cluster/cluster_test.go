package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/test/node"
)

const (
	// system is the namespace of Sluice.
	system = "sluice-system"
	// soon is how long anything may take, on a busy machine.
	soon = 2 * time.Minute
)

// cluster is the one that the journeys are made on.
type cluster struct {
	*testing.T
	client.WithWatch
	core kubernetes.Interface
	host string // address of this machine, for pods
}

// open connects to the cluster, and skips the test if there is none.
func open(t *testing.T) *cluster {
	t.Helper()
	host := os.Getenv(node.HostEnv)
	if host == "" {
		t.Skip("needs a cluster with real containers: make test-node, or make test-kind")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		t.Fatalf("read kubeconfig: %v", err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	opened := &cluster{T: t, WithWatch: c, core: core, host: host}
	t.Cleanup(opened.explain)
	return opened
}

// as returns the cluster for a part of the test.
func (c *cluster) as(t *testing.T) *cluster {
	part := *c
	part.T = t
	return &part
}

// explain logs what there is if the test has failed.
func (c *cluster) explain() {
	if !c.Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "--all-namespaces", "--output", "wide"},
		{"get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp"},
		{"get", "batchreleases,releasesources,gates,metricproviders", "--all-namespaces", "--output", "yaml"},
		{"get", "services,endpointslices,httproutes", "--all-namespaces", "--output", "yaml"},
		{"logs", "--namespace", system, "--selector", "app.kubernetes.io/name=sluice", "--prefix", "--tail", "100"},
	} {
		out, err := exec.CommandContext(context.Background(), "kubectl", args...).CombinedOutput()
		c.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// run runs a program and returns what it printed.
func (c *cluster) run(stdin string, program string, args ...string) string {
	c.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(c.Context(), program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		c.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

func (c *cluster) apply(manifests string) {
	c.Helper()
	c.run(manifests, "kubectl", "apply", "--server-side", "--filename", "-")
}

// await polls until the condition returns nil, because the state of containers and of a lease is
// in many objects, some of which can't be watched.
func (c *cluster) await(what string, condition func() error) {
	c.Helper()
	begin := time.Now()
	deadline := time.After(soon)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			c.Logf("%s after %v", what, time.Since(begin).Round(10*time.Millisecond))
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			c.Fatalf("%s: not within %v: %v", what, soon, err)
		}
	}
}

// pods returns the pods of a namespace with a label, without those being deleted.
func (c *cluster) pods(namespace, selector string) ([]corev1.Pod, error) {
	list, err := c.core.CoreV1().Pods(namespace).List(c.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var staying []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			staying = append(staying, pod)
		}
	}
	return staying, nil
}

// readyPods wants so many pods with a label, and all of them ready.
func (c *cluster) readyPods(namespace, selector string, want int) func() error {
	return func() error {
		pods, err := c.pods(namespace, selector)
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if isReady(&pods[i]) {
				ready++
			}
		}
		if ready != want || len(pods) != want {
			return fmt.Errorf("want %d pods %s, all ready; %d of %d are", want, selector, ready, len(pods))
		}
		return nil
	}
}

// nodes returns the names of the nodes that take any pod.
func (c *cluster) nodes() []string {
	c.Helper()
	list, err := c.core.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatalf("list nodes: %v", err)
	}
	var names []string
	for i := range list.Items {
		if node := &list.Items[i]; len(node.Spec.Taints) == 0 {
			names = append(names, node.Name)
		}
	}
	return names
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// leader returns the name of the pod that holds the Lease, and the identity of its process.
func (c *cluster) leader() (pod, identity string, err error) {
	lease, err := c.core.CoordinationV1().Leases(system).Get(c.Context(), v1alpha1.LeaseName, metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", "", errors.New("nobody holds the Lease")
	}
	pod, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod, *lease.Spec.HolderIdentity, nil
}

// killLeader kills the controller that acts, without a word to it, and waits until another one
// does.
func (c *cluster) killLeader() {
	c.Helper()
	name, killed, err := c.leader()
	if err != nil {
		c.Fatal(err)
	}
	pod, err := c.core.CoreV1().Pods(system).Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.Fatalf("find the leader: %v", err)
	}
	_, container, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	c.command(node.KillEnv, container)
	c.await("another one leads", func() error {
		_, identity, err := c.leader()
		if err == nil && identity == killed {
			return fmt.Errorf("%s holds the Lease", killed)
		}
		return err
	})
}

// command runs the command that an environment variable has, with an argument more.
func (c *cluster) command(env, argument string) {
	c.Helper()
	words := strings.Fields(os.Getenv(env))
	if len(words) == 0 {
		c.Fatalf("%s has no command", env)
	}
	c.run("", words[0], append(words[1:], argument)...)
}
