// Package node runs two real nodes of a control plane on this machine, each a containerd and a
// kubelet, and kube-proxy, with containers that are processes. It takes root on Linux and three of
// Debian's packages, and no Docker.
//
//	Enclose ──► process 1 ──► the same program, inside ──► controlplane.Start ──► Start
//	               │ reaps         namespaces of its own: processes, mounts, network
//	               ▼
//	    ends, and all inside ends with it: containers, mounts, bridges, rules of the firewall
//
// What holds:
//   - Nothing that happens inside is left when Enclose returns, or when its process was killed:
//     what the kernel does not take away with the namespaces (empty cgroups, the state folder) the
//     next Enclose does.
//   - Nobody outside reaches what is inside, nor the other way round: the network inside is its
//     own, and ends at this machine. There is no way to a registry, so images are imported.
//   - Settings of the kernel are read-only inside, those of its network aside.
//   - Pods reach this machine at Address, each other, and all services, that of the API server
//     among them, through kube-proxy. This machine reaches pods.
package node
