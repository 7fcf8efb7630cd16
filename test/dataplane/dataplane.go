package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	// controllerName is Traefik's name in GatewayClasses and in the status of routes.
	controllerName = "traefik.io/gateway-controller"
	// GatewayName is that of the Gateway, and of its listener.
	GatewayName  = "gateway"
	listenerName = "web"
	// classLabel tells the GatewayClasses of one data plane from those of others in the same cluster.
	classLabel = "sluice.test/data-plane"
	// readyPath is answered by Traefik itself, once it has read all routes.
	readyPath = "/.data-plane/ready"
	// startLimit is how long Traefik may take to start on a busy machine.
	startLimit = time.Minute
	fieldOwner = "sluice-test"
)

// InstallCRDs installs the CRDs of Gateway API's standard channel, at the version that the tests'
// module requires.
func InstallCRDs(ctx context.Context, cfg *rest.Config) error {
	module, err := controlplane.InCheckout("test")
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	list.Dir = module
	dir, err := list.Output()
	if err != nil {
		return fmt.Errorf("find Gateway API: %w", err)
	}
	return controlplane.Apply(ctx, cfg, filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard"))
}

// Options holds the environment of a data plane.
type Options struct {
	// Traefik is the path of the program.
	Traefik string
	// Config gives access to the cluster, which has the CRDs of Gateway API.
	Config *rest.Config
	// Namespace is that of its Gateway, which takes routes of all namespaces.
	Namespace string
	// Dir is a folder for its kubeconfig and logs.
	Dir string
}

// A DataPlane is a Gateway, and the instances that serve it.
type DataPlane struct {
	options   Options
	class     *gatewayv1.GatewayClass
	client    client.Client
	port      int32
	instances []*Instance
}

// An Instance is one Traefik. Each has an address of its own, and all of them the Gateway's port.
type Instance struct {
	// URL is the address for requests.
	URL     string
	plane   *DataPlane
	dir     string
	address string
	program *controlplane.Program
}

// New makes a GatewayClass of its own, and its Gateway. No instance serves it yet.
func New(ctx context.Context, options Options) (*DataPlane, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(gatewayv1.Install(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("make scheme: %w", err)
	}
	c, err := client.New(options.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	d := &DataPlane{options: options, client: c, port: port}
	if err := controlplane.WriteKubeconfig(d.kubeconfig(), options.Config); err != nil {
		return nil, err
	}
	return d, d.create(ctx)
}

func (d *DataPlane) kubeconfig() string { return filepath.Join(d.options.Dir, "traefik.kubeconfig") }

// freePort returns a port that nobody listens on right now, on any address of loopback.
func freePort(ctx context.Context) (int32, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}

func (d *DataPlane) create(ctx context.Context) error {
	name := d.options.Namespace
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(d.client.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("make namespace: %w", err)
	}
	d.class = &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{classLabel: name}},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: controllerName},
	}
	meta := metav1.ObjectMeta{Name: GatewayName, Namespace: name}
	gateway := &gatewayv1.Gateway{
		ObjectMeta: meta,
		Spec: gatewayv1.GatewaySpec{GatewayClassName: gatewayv1.ObjectName(name), Listeners: []gatewayv1.Listener{{
			Name: listenerName, Port: d.port, Protocol: gatewayv1.HTTPProtocolType,
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromAll)}},
		}}},
	}
	meta.Name = "ready"
	ready := &gatewayv1.HTTPRoute{
		ObjectMeta: meta,
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{d.ParentRef()}},
			Rules: []gatewayv1.HTTPRouteRule{{
				Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchExact), Value: new(readyPath)}}},
				Filters: []gatewayv1.HTTPRouteFilter{{
					Type:            gatewayv1.HTTPRouteFilterRequestRedirect,
					RequestRedirect: &gatewayv1.HTTPRequestRedirectFilter{StatusCode: new(http.StatusFound)},
				}},
			}},
		},
	}
	for _, object := range []client.Object{d.class, gateway, ready} {
		if err := d.client.Create(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("make %T: %w", object, err)
		}
	}
	return nil
}

// ParentRef returns what a route names to be served.
func (d *DataPlane) ParentRef() gatewayv1.ParentReference {
	return gatewayv1.ParentReference{Name: GatewayName, Namespace: new(gatewayv1.Namespace(d.options.Namespace))}
}

// Close ends all instances, and deletes what is in no namespace.
func (d *DataPlane) Close(ctx context.Context) error {
	for _, i := range d.instances {
		i.Stop()
	}
	if err := client.IgnoreNotFound(d.client.Delete(ctx, d.class)); err != nil {
		return fmt.Errorf("delete GatewayClass: %w", err)
	}
	return nil
}

// Start starts one more instance, and returns when it serves.
func (d *DataPlane) Start(ctx context.Context) (*Instance, error) {
	number := len(d.instances) + 1
	i := &Instance{plane: d, dir: filepath.Join(d.options.Dir, fmt.Sprintf("traefik-%d", number))}
	i.address = fmt.Sprintf("127.0.0.%d:%d", number, d.port)
	i.URL = "http://" + i.address
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	d.instances = append(d.instances, i)
	return i, i.Start(ctx)
}

// Start starts the instance again after it was stopped or killed, and returns when it serves.
func (i *Instance) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// It serves HTTP and no pages of its own, tells nobody that it runs, and asks nobody for newer
	// versions.
	args := []string{
		"--entrypoints.web.address=" + i.address,
		"--providers.kubernetesgateway=true",
		"--providers.kubernetesgateway.labelselector=" + classLabel + "=" + i.plane.options.Namespace,
		"--providers.kubernetesgateway.statusaddress.ip=127.0.0.1",
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		"--log.level=DEBUG", // why a request failed is there alone
		"--log.nocolor=true",
	}
	var err error
	i.program, err = controlplane.StartProgram(i.plane.options.Traefik, args, []string{"KUBECONFIG=" + i.plane.kubeconfig()}, i.dir)
	if err != nil {
		return err
	}
	if err := i.program.Await(ctx, "Traefik to serve", i.ready); err != nil {
		i.Stop()
		return err
	}
	return nil
}

// ready wants the Gateway to be programmed as it is, and the instance to have read the routes.
func (i *Instance) ready(ctx context.Context) error {
	gateway := &gatewayv1.Gateway{}
	err := i.plane.client.Get(ctx, client.ObjectKey{Namespace: i.plane.options.Namespace, Name: GatewayName}, gateway)
	if err != nil {
		return err
	}
	programmed := apimeta.FindStatusCondition(gateway.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed))
	if programmed == nil || programmed.Status != metav1.ConditionTrue || programmed.ObservedGeneration != gateway.Generation {
		return fmt.Errorf("the Gateway is not programmed: %v", gateway.Status.Conditions)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.URL+readyPath, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusFound {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}

// Stop has the instance end what it is at, and end. It may have ended before.
func (i *Instance) Stop() { i.program.Stop() }

// Kill ends the instance at once: open requests get no answer.
func (i *Instance) Kill() { i.program.Kill() }

// Log returns the path of what the instance has said.
func (i *Instance) Log() string { return i.program.Log() }

// Said returns the lines with a text in the logs of all instances.
func (d *DataPlane) Said(text string) (lines []string, err error) {
	for _, i := range d.instances {
		log, failed := os.ReadFile(i.Log())
		err = errors.Join(err, failed)
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, text) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines, err
}
