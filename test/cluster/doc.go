// Package cluster has journeys on a cluster with real containers: Sluice runs in it as it is
// installed, two pods of its image under its own account, and releases services that are under
// load.
//
//	test ──► devforge, on an address of this machine ◄── sluice-controller, 2 pods
//	  │                                                        │
//	  └──► image archives, sluice install ──► cluster ◄────────┘
//	                                             │
//	                          load, 1 pod ──► Service ──► shop, a Deployment of 6 pods
//	                          load, 1 pod ──► Service ──► store, a StatefulSet of 4 pods with volumes
//	                          load, 1 pod ──► Service ──► agent, a DaemonSet with a pod on each node
//	                          load, 1 pod ──► Service ──► worse, equal, gone: Deployments of 6 pods
//	                                                             │ /metrics, each second
//	                          sluice-controller ──► Prometheus ◄─┘ on this machine, one for each
//
// The cluster is the one of $KUBECONFIG, and this package makes no other: "make test-node" has one
// with two real nodes on this machine, "make test-kind" one made by kind. Either tells by
// environment variables (see package node) where pods reach this machine, and how images are
// imported. Without them the journeys are skipped.
package cluster
