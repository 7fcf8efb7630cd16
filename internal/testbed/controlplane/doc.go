// Package controlplane runs a real Kubernetes control plane on loopback, for the demo, tests and
// benchmarks: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK, which plays
// the nodes and the kubelets.
//
//	hack/controlplane/go.mod -Binaries-> cache -Start-> etcd <- kube-apiserver <- the other three
//	                                                         ^ Access: kubeconfig, kubectl, audit log
//
// The programs are built from their Go modules at the versions that hack/controlplane pins, once,
// into a cache outside the checkout. Those of Kubernetes are downloaded as its project has built
// them, where that works and they have the checksums that hack/controlplane pins. Start runs them
// as children with a state folder of their own. Argo Rollouts, which the bench measures, is built
// into the same cache.
//
// What holds:
//   - Only 127.0.0.1, or the address in Options, is listened on, and only by kube-apiserver; etcd
//     has a Unix socket in the state folder, the others serve nothing.
//   - No child outlives the process that started it. Stop ends them in order; on Linux the kernel
//     ends them should the process die without a word.
//   - Authorization is RBAC and every component has an identity of its own, as in a cluster that
//     kubeadm made; only the limits on clients and requests are taken off.
package controlplane
