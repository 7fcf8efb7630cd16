package controlplane

import (
	"context"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// zones are what nodes are spread over.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// createNodes makes n nodes, node-0 and on; KWOK does the rest.
func createNodes(ctx context.Context, client kubernetes.Interface, n int) error {
	for i := range n {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:     name,
				corev1.LabelTopologyZone: zones[i%len(zones)],
				corev1.LabelOSStable:     "linux",
			},
		}}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady reports whether there are so many nodes, and all take pods: a node is tainted until
// its Ready condition was noticed.
func nodesReady(client kubernetes.Interface, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		if got := len(nodes.Items); got < want {
			return fmt.Errorf("want %d nodes, there are %d", want, got)
		}
		for _, node := range nodes.Items {
			if !isReady(&node) || len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s is not ready", node.Name)
			}
		}
		return nil
	}
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ServiceAccountExists returns nil once the service account "default" is there that pods in the
// namespace run as: before that none can be created.
func ServiceAccountExists(ctx context.Context, client kubernetes.Interface, namespace string) error {
	_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get service account default: %w", err)
	}
	return nil
}

// freePort returns a port of an address of this machine that nobody listens on right now.
func freePort(ctx context.Context, address string) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find a free port: listening on %v", l.Addr())
	}
	return addr.Port, nil
}
