package controlplane

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
)

// The components, by the names of their programs.
const (
	etcd                  = "etcd"
	kubeAPIServer         = "kube-apiserver"
	kubeControllerManager = "kube-controller-manager"
	kubeScheduler         = "kube-scheduler"
	kwok                  = "kwok"
)

// clients are the components that talk to kube-apiserver, with the user that each one is. KWOK is
// every node's kubelet, for which RBAC alone has no role.
var clients = []struct {
	component, user string
	groups          []string
}{
	{kubeControllerManager, "system:kube-controller-manager", nil},
	{kubeScheduler, "system:kube-scheduler", nil},
	{kwok, "kwok", []string{"system:masters"}},
}

// Where in the state folder logs go.
const (
	logsDir  = "logs"
	auditDir = "audit"
	auditLog = auditDir + "/audit.log"
)

// caFile has the certificate of the authority.
const caFile = "ca.crt"

const (
	loopback = "127.0.0.1"
	// serviceRange are the cluster IPs of services, and apiServerIP the one of kube-apiserver's.
	serviceRange = "10.96.0.0/16"
	apiServerIP  = "10.96.0.1"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// A state is the folder of one control plane: its data, keys, configuration and logs. All
// components run in it, so that paths in their arguments are relative, and the path of etcd's
// socket stays short enough wherever the folder is.
type state string

func (s state) path(name string) string { return filepath.Join(string(s), name) }

// fill writes all that does not depend on kube-apiserver's port, and returns the authority that
// signs what does.
func (s state) fill(address string, readyDelay time.Duration) (*authority, error) {
	for _, sub := range []string{logsDir, auditDir} {
		if err := os.Mkdir(s.path(sub), 0o700); err != nil {
			return nil, fmt.Errorf("make state folder: %w", err)
		}
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	server, err := ca.server(kubeAPIServer, address)
	if err != nil {
		return nil, err
	}
	kubeletClient, err := ca.client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return nil, err
	}
	tokens, err := newSigningKey()
	if err != nil {
		return nil, err
	}
	stages, err := kwokConfig(readyDelay)
	if err != nil {
		return nil, err
	}
	return ca, s.write(map[string][]byte{
		caFile:              ca.bundle(),
		"server.crt":        server.cert,
		"server.key":        server.key,
		"kubelet.crt":       kubeletClient.cert,
		"kubelet.key":       kubeletClient.key,
		"tokens.key":        tokens,
		"kwok.yaml":         stages,
		"audit-policy.yaml": auditPolicy,
	})
}

// access returns how to use the control plane whose state this is.
func (s state) access(bin BinDir, audit bool) Access {
	a := Access{
		Kubeconfig:  s.kubeconfig("admin"),
		KubectlPath: bin.Kubectl(),
		Logs:        s.path(logsDir),
	}
	if audit {
		a.AuditLog = s.path(auditLog)
	}
	return a
}

func (s state) write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(s.path(name), content, 0o600); err != nil {
			return fmt.Errorf("write state: %w", err)
		}
	}
	return nil
}

// writeKubeconfigs writes the kubeconfigs of the administrator and all components.
func (s state) writeKubeconfigs(by issuer) error {
	err := by.writeKubeconfig(s.kubeconfig("admin"), "admin", "system:masters")
	for _, c := range clients {
		if err == nil {
			err = by.writeKubeconfig(s.kubeconfig(c.component), c.user, c.groups...)
		}
	}
	return err
}

func (s state) kubeconfig(name string) string { return s.path(name + ".kubeconfig") }

// An issuer lets users in to a kube-apiserver.
type issuer struct {
	authority *authority
	server    string // URL
}

func (i issuer) writeKubeconfig(path, user string, groups ...string) error {
	pair, err := i.authority.client(user, groups...)
	if err != nil {
		return err
	}
	return WriteKubeconfig(path, &rest.Config{
		Host:            i.server,
		TLSClientConfig: rest.TLSClientConfig{CAData: i.authority.bundle(), CertData: pair.cert, KeyData: pair.key},
	})
}

// etcdArgs makes etcd listen on Unix sockets in its working directory, named like host and port.
func etcdArgs() []string {
	const client, peer = "unix://etcd:2379", "unix://etcd:2380"
	return []string{
		"--name=etcd",
		"--data-dir=etcd",
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=etcd=" + peer,
		"--unsafe-no-fsync",
		// With nobody to vote but itself etcd need not wait a second before it elects itself;
		// kube-apiserver would find it closed and be back only a second later.
		"--heartbeat-interval=20",
		"--election-timeout=100",
		"--log-level=warn",
	}
}

// etcdListens reports whether etcd takes connections on the socket that etcdArgs name.
func (s state) etcdListens(context.Context) error {
	// The path may be longer than a socket's may be, so it is not dialed: etcd makes the socket
	// when it starts to listen.
	_, err := os.Stat(s.path("etcd:2379"))
	return err
}

func apiServerArgs(port int, options Options) []string {
	args := []string{
		"--etcd-servers=unix://etcd:2379",
		"--bind-address=" + options.Address,
		fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=" + options.Address,
		"--service-cluster-ip-range=" + serviceRange,
		"--tls-cert-file=server.crt",
		"--tls-private-key-file=server.key",
		"--client-ca-file=" + caFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=tokens.key",
		"--service-account-signing-key-file=tokens.key",
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--profiling=false",
	}
	if options.Address == loopback {
		// No endpoint may be a loopback address: nothing in the cluster reaches the API server
		// through its service then.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	if options.Audit {
		args = append(args, "--audit-policy-file=audit-policy.yaml", "--audit-log-path="+auditLog)
	}
	if options.RealNodes {
		return append(args,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--kubelet-preferred-address-types=InternalIP", // there is no DNS
			"--kubelet-client-certificate=kubelet.crt", "--kubelet-client-key=kubelet.key")
	}
	return append(args, "--authorization-mode=RBAC")
}

// clientArgs returns the arguments of a component that talks to kube-apiserver.
func clientArgs(component string) []string {
	if component == kwok {
		return []string{"--kubeconfig=kwok.kubeconfig", "--config=kwok.yaml", "--v=WARN"}
	}
	args := []string{
		"--kubeconfig=" + component + ".kubeconfig",
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=10000",
		"--kube-api-burst=10000",
	}
	if component == kubeControllerManager {
		args = append(args,
			"--root-ca-file="+caFile,
			"--service-account-private-key-file=tokens.key",
			"--use-service-account-credentials",
			// Where its cache lags, it may count pods of a quota that have gone until it syncs.
			"--resource-quota-sync-period=2s",
		)
	}
	return args
}
