package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Access gives any process on this machine access to a running control plane.
type Access struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// KubectlPath is the path of a kubectl of the same version.
	KubectlPath string `json:"kubectl"`
	// AuditLog is the path of the audit log, empty if there is none.
	AuditLog string `json:"auditLog,omitempty"`
	// Logs is the folder with a log of each component, <component>.log.
	Logs string `json:"logs"`
	// Standing is the folder of the Standing that this is the control plane of; empty if it ends with
	// what has started it.
	Standing string `json:"standing,omitempty"`
}

// LoadAccess reads what Save wrote.
func LoadAccess(path string) (Access, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Access{}, fmt.Errorf("read access: %w", err)
	}
	var a Access
	if err := json.Unmarshal(data, &a); err != nil {
		return Access{}, fmt.Errorf("decode access in %s: %w", path, err)
	}
	return a, nil
}

// Save writes the access to a file, for another process to load.
func (a Access) Save(path string) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode access: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write access: %w", err)
	}
	return nil
}

// Config returns the administrator's client configuration (group system:masters), without a
// client-side limit on requests.
func (a Access) Config() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", a.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// ConfigAs returns the client configuration of another user: the administrator impersonates it, so
// that authorization and admission see the user and its groups.
func (a Access) ConfigAs(user string, groups ...string) (*rest.Config, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return cfg, nil
}

// ServiceAccountConfig returns the client configuration of a service account that exists,
// authenticated by a token that holds for an hour.
func (a Access) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	admin, err := a.Config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	token, err := client.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	cfg := rest.AnonymousClientConfig(admin)
	cfg.BearerToken = token.Status.Token
	return cfg, nil
}

// Kubectl returns the command that runs kubectl as the administrator. It leaves the user's own
// kubeconfig and cache alone.
func (a Access) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.KubectlPath, args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+a.Kubeconfig,
		"KUBECACHEDIR="+filepath.Join(filepath.Dir(a.Kubeconfig), "kubectl-cache"))
	return cmd
}

// WriteKubeconfig writes cfg as a kubeconfig that needs no other file.
func WriteKubeconfig(path string, cfg *rest.Config) error {
	const name = "sluice"
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   cfg.Host,
			CertificateAuthority:     cfg.CAFile,
			CertificateAuthorityData: cfg.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificate:     cfg.CertFile,
			ClientCertificateData: cfg.CertData,
			ClientKey:             cfg.KeyFile,
			ClientKeyData:         cfg.KeyData,
			Token:                 cfg.BearerToken,
			Impersonate:           cfg.Impersonate.UserName,
			ImpersonateGroups:     cfg.Impersonate.Groups,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
