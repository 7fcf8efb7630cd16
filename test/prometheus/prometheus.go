package prometheus

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	// Username and Password are the credentials for queries.
	Username = "sluice"
	Password = "correct-horse-battery"
	// passwordHash is the bcrypt hash of Password.
	passwordHash = "$2a$04$fvhJ5QNkDMMiXGqavtJ5Uew.JZb7PSI7nsB46XG.jvWH3rhMKiYfK"
	// startLimit is the time that Prometheus may take to start on a busy machine.
	startLimit = time.Minute
)

// Options holds the environment of a server.
type Options struct {
	// Program is the path of Prometheus.
	Program string
	// Config gives access to the cluster.
	Config *rest.Config
	// Namespace and App select the pods to scrape, at port 8080. App is the value of their label app.
	Namespace, App string
	// Host is the address of this machine that queries come to.
	Host string
	// Dir is a folder for its configuration, samples and logs.
	Dir string
}

// A Server is a Prometheus.
type Server struct {
	// URL is the address for queries.
	URL     string
	options Options
	address string
	program *controlplane.Program
}

// config is the configuration: %[1]q is the path of a kubeconfig, %[2]q a namespace, %[3]q a value
// of the label app.
const config = `global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
- job_name: pods
  kubernetes_sd_configs:
  - role: pod
    kubeconfig_file: %[1]q
    namespaces:
      names: [%[2]q]
  relabel_configs:
  - source_labels: [__meta_kubernetes_pod_label_app]
    regex: %[3]q
    action: keep
  - source_labels: [__meta_kubernetes_pod_ip]
    replacement: $1:8080
    target_label: __address__
  - source_labels: [__meta_kubernetes_namespace]
    target_label: namespace
  - source_labels: [__meta_kubernetes_pod_name]
    target_label: pod
`

// Start starts a server, and returns when it answers.
func Start(ctx context.Context, options Options) (*Server, error) {
	port, err := freePort(ctx, options.Host)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, address: fmt.Sprintf("%s:%d", options.Host, port)}
	s.URL = "http://" + s.address
	kubeconfig := s.file("kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, options.Config); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{
		"prometheus.yml": fmt.Sprintf(config, kubeconfig, options.Namespace, options.App),
		"web.yml":        fmt.Sprintf("basic_auth_users:\n  %s: %q\n", Username, passwordHash),
	} {
		if err := os.WriteFile(s.file(name), []byte(content), 0o600); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
	}
	return s, s.Start(ctx)
}

func (s *Server) file(name string) string { return filepath.Join(s.options.Dir, name) }

// freePort returns a port of an address that nobody listens on right now.
func freePort(ctx context.Context, host string) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// Start starts the server again after it was killed, with the samples that it had, and returns when
// it answers.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	args := []string{
		"--config.file=" + s.file("prometheus.yml"), "--web.config.file=" + s.file("web.yml"), "--web.listen-address=" + s.address,
		"--storage.tsdb.path=" + s.file("data"), "--scrape.discovery-reload-interval=1s", "--log.level=warn",
	}
	var err error
	if s.program, err = controlplane.StartProgram(s.options.Program, args, nil, s.options.Dir); err != nil {
		return err
	}
	if err := s.program.Await(ctx, "Prometheus to answer", s.ready); err != nil {
		s.Stop()
		return err
	}
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	_, err := s.get(ctx, "/-/ready")
	return err
}

// get returns what the server answers at a path.
func (s *Server) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, http.NoBody)
	if err != nil {
		return "", err
	}
	request.SetBasicAuth(Username, Password)
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", answer.Status)
	}
	return string(body), err
}

// Explain returns what the server has said, and how its targets are.
func (s *Server) Explain(ctx context.Context) string {
	targets, err := s.get(ctx, "/api/v1/targets?state=active")
	said, failed := os.ReadFile(s.program.Log())
	return fmt.Sprintf("targets: %s (%v)\nlog (%v):\n%s", targets, err, failed, said)
}

// Kill ends the server without a word to it.
func (s *Server) Kill() { s.program.Kill() }

// Stop ends the server. It may have ended before.
func (s *Server) Stop() { s.program.Stop() }
