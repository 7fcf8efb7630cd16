package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/test/cluster/clients"
	"github.com/sluice-dev/sluice/test/dataplane"
	"github.com/sluice-dev/sluice/test/node"
	"github.com/sluice-dev/sluice/test/node/image"
)

const (
	// name is that of the service, its namespace, route and release.
	name = "web"
	// gateway is the namespace of the Gateway.
	gateway    = "gateway"
	repository = "shop/releases"
	developer  = "ada"
	releaser   = "sluice"
	// The load: some 500 requests a second.
	senders  = 32
	interval = 64 * time.Millisecond
	// tick is how long a line of the picture is.
	tick = time.Second
	// patience is how long anything may take.
	patience = 2 * time.Minute
	// controllerAccount is the one that the policies in config/policy know as the controller's.
	controllerAccount = "system:serviceaccount:sluice-system:sluice-controller"
)

// The manifests: the service and its release as they are in Git, of a version, and what there is
// before.
var (
	//go:embed workload.yaml
	workload string
	//go:embed release.yaml
	release string
	//go:embed cluster.yaml
	beforehand string
)

// stand holds everything that the picture shows.
type stand struct {
	dir     string
	config  *rest.Config
	cluster client.Client
	forge   *devforge.Forge
	token   string // of the developer
	plane   *dataplane.DataPlane
	gateway *dataplane.Instance
	load    *clients.Load
	began   time.Time
	stops   []func() error
}

// start starts all that there is before a release.
func (s *stand) start(ctx context.Context) error {
	for _, part := range []struct {
		what  string
		start func(context.Context) error
	}{
		{"connecting to the cluster: two nodes with real kubelets", s.connect},
		{"building the image of the service", s.importImage},
		{"starting a forge with a Git repository", s.startForge},
		{"starting Traefik as a Gateway", s.startGateway},
		{"starting the controller with --traffic", s.startController},
		{"creating the service from Git, with 4 pods of v1", s.createService},
		{"sending requests from 32 clients, half of which keep their connection", s.startLoad},
	} {
		fmt.Println(part.what)
		if err := part.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends everything, the last first.
func (s *stand) stop() error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

func (s *stand) connect(ctx context.Context) error {
	if os.Getenv(node.HostEnv) == "" || os.Getenv(node.TraefikEnv) == "" {
		return errors.New("it needs nodes with real containers: run make demo-traffic, as root on Linux")
	}
	var err error
	if s.config, err = clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	policy, err := controlplane.InCheckout("config/policy")
	if err != nil {
		return fmt.Errorf("find Sluice's admission policies: %w", err)
	}
	if err := errors.Join(dataplane.InstallCRDs(ctx, s.config), controlplane.Apply(ctx, s.config, policy)); err != nil {
		return err
	}
	scheme := kube.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		return fmt.Errorf("make scheme: %w", err)
	}
	s.cluster, err = client.New(s.config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return nil
}

// importImage builds an image of the service that loses no request, under the names of two
// versions. The environment of its pods sets the answer.
func (s *stand) importImage(ctx context.Context) error {
	source, err := controlplane.InCheckout("examples/service")
	if err != nil {
		return err
	}
	program, archive := filepath.Join(s.dir, "service"), filepath.Join(s.dir, "service.tar")
	if err := image.BuildProgram(ctx, source, program, "-ldflags", "-s -w"); err != nil {
		return err
	}
	built := image.Image{
		Program: "/service", Files: []image.File{{Place: "/service", Source: program, Mode: 0o755}}, OS: "linux", Architecture: runtime.GOARCH,
	}
	if err := built.WriteArchive(archive, "sluice.test/shop:v1", "sluice.test/shop:v2"); err != nil {
		return err
	}
	words := append(strings.Fields(os.Getenv(node.ImportEnv)), archive)
	return command(ctx, "", "", words...)
}

// command runs a program. The error contains its output.
func command(ctx context.Context, dir, stdin string, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME="+developer, "GIT_AUTHOR_EMAIL="+developer+"@localhost",
		"GIT_COMMITTER_NAME="+developer, "GIT_COMMITTER_EMAIL="+developer+"@localhost")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", words[0], err, output)
	}
	return nil
}

func of(version string) string { return strings.ReplaceAll(workload, "$VERSION", version) }

func (s *stand) startForge(ctx context.Context) error {
	forge, err := devforge.Start(ctx, devforge.Options{Dir: filepath.Join(s.dir, "forge"), Host: os.Getenv(node.HostEnv)})
	if err != nil {
		return fmt.Errorf("start forge: %w", err)
	}
	s.forge = forge
	s.stops = append(s.stops, forge.Close)
	seed := fstest.MapFS{"workload.yaml": {Data: []byte(of("v1"))}, "release.yaml": {Data: []byte(release)}}
	if err := forge.CreateRepository(ctx, repository, "main", seed); err != nil {
		return fmt.Errorf("make repository: %w", err)
	}
	if s.token, err = s.invite(developer); err != nil {
		return err
	}
	token, err := s.invite(releaser)
	if err != nil {
		return err
	}
	manifests := strings.NewReplacer("$PASSWORD", token, "$REPOSITORY", forge.CloneURL(repository), "$GATEWAY", gateway).Replace(beforehand)
	return command(ctx, "", manifests, "kubectl", "apply", "--server-side", "--filename", "-")
}

// invite makes an account that may push, and returns its token.
func (s *stand) invite(login string) (string, error) {
	if _, err := s.forge.CreateUser(login); err != nil {
		return "", fmt.Errorf("sign up: %w", err)
	}
	if err := s.forge.Grant(repository, login, devforge.RoleWrite); err != nil {
		return "", fmt.Errorf("invite %s: %w", login, err)
	}
	token, err := s.forge.CreateToken(login, nil)
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return token, nil
}

func (s *stand) startGateway(ctx context.Context) error {
	options := dataplane.Options{Traefik: os.Getenv(node.TraefikEnv), Config: s.config, Namespace: gateway, Dir: s.dir}
	plane, err := dataplane.New(ctx, options)
	if err != nil {
		return err
	}
	s.plane = plane
	s.stops = append(s.stops, func() error { return plane.Close(context.WithoutCancel(ctx)) })
	s.gateway, err = plane.Start(ctx)
	return err
}

// startController runs the controller in this process, as cmd/sluice runs it.
func (s *stand) startController(ctx context.Context) error {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	manager, err := app.New(config, app.Options{
		Version: "demo", Logger: logr.Discard(), Traffic: true, Git: gitrepo.Options{AllowHTTP: true},
	})
	if err != nil {
		return fmt.Errorf("start controller: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.stops = append(s.stops, func() error { cancel(); return <-ended })
	return nil
}

func (s *stand) createService(ctx context.Context) error {
	return await(ctx, "the service to be ready", func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err == nil && pods["v1"] != 4 {
			return fmt.Errorf("%d pods are ready", pods["v1"])
		}
		return err
	})
}

// pods counts those that are ready, by version.
func (s *stand) pods(ctx context.Context) (map[string]int, error) {
	var list corev1.PodList
	if err := s.cluster.List(ctx, &list, client.InNamespace(name), client.MatchingLabels{"app": name}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	ready := map[string]int{}
	for i := range list.Items {
		pod := &list.Items[i]
		_, version, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
		if pod.DeletionTimestamp == nil && isReady(pod) {
			ready[version]++
		}
	}
	return ready, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (s *stand) startLoad(ctx context.Context) error {
	probe, cancel := context.WithCancel(ctx)
	defer cancel()
	err := await(probe, "the Gateway to serve", func(ctx context.Context) error {
		try := clients.Start(ctx, clients.Options{URL: s.gateway.URL, Clients: 1, Interval: interval})
		try.Stop()
		if c := try.Counts(); c.Versions["v1"] == 0 {
			return fmt.Errorf("no answer: %v", c.Failures)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.load = clients.Start(context.WithoutCancel(ctx), clients.Options{URL: s.gateway.URL, Clients: senders, Interval: interval})
	s.stops = append(s.stops, func() error { s.load.Stop(); return nil })
	return nil
}

// await polls until a condition holds.
func await(ctx context.Context, what string, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, errors.Join(err, last))
	}
	return nil
}
