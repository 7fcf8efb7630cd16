package installation

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long a test waits for what takes moments on a quiet machine.
const soon = 2 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// cluster is a control plane that nothing is installed on.
type cluster struct {
	*testing.T
	*controlplane.ControlPlane
	client client.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	cp := cptest.Own(t, controlplane.Options{})
	cfg, err := cp.Config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	return &cluster{T: t, ControlPlane: cp, client: c}
}

// kubectl runs kubectl as the administrator and returns what it printed.
func (c *cluster) kubectl(args ...string) string {
	c.Helper()
	cmd := c.Kubectl(c.Context(), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		c.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// manifests writes the manifests for these options to a file.
func (c *cluster) manifests(options install.Options) string {
	c.Helper()
	objects, err := install.Objects(options)
	if err != nil {
		c.Fatalf("make manifests: %v", err)
	}
	var text bytes.Buffer
	if err := install.Write(&text, objects); err != nil {
		c.Fatal(err)
	}
	path := filepath.Join(c.TempDir(), "install.yaml")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		c.Fatalf("write manifests: %v", err)
	}
	return path
}

// startController runs the controller as the account that is installed, until stop is called.
func (c *cluster) startController() (stop func()) {
	c.Helper()
	cfg, err := c.ServiceAccountConfig(c.Context(), install.Namespace, "sluice-controller")
	if err != nil {
		c.Fatalf("log in as the controller: %v", err)
	}
	mgr, err := app.New(cfg, app.Options{
		Version: c.Name(), Logger: logr.FromSlogHandler(slog.DiscardHandler),
		LeaderElection: true, LeaseNamespace: install.Namespace,
	})
	if err != nil {
		c.Fatalf("make controller: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx); close(ended) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("run controller: %v", err)
		}
	}
	c.Cleanup(stop)
	return stop
}

// await polls the release web until it is as wanted.
func (c *cluster) await(what string, wanted func(*v1alpha1.BatchReleaseStatus) bool) *v1alpha1.BatchRelease {
	c.Helper()
	release := &v1alpha1.BatchRelease{}
	cptest.Eventually(c, soon, func() error {
		if err := c.client.Get(c.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, release); err != nil {
			return fmt.Errorf("read release: %w", err)
		}
		if status := &release.Status; !wanted(status) {
			return fmt.Errorf("want the release %s, it is %s %d %s: %s", what, status.Phase,
				status.CurrentStepIndex, status.CurrentStepState, status.Message)
		}
		return nil
	})
	return release
}

// awaitPods waits until the Deployment web is the native controller's and all its pods have the
// image.
func (c *cluster) awaitPods(image string) *appsv1.Deployment {
	c.Helper()
	web := &appsv1.Deployment{}
	cptest.Eventually(c, soon, func() error {
		if err := c.client.Get(c.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
			return fmt.Errorf("read deployment: %w", err)
		}
		status, runs := web.Status, web.Spec.Template.Spec.Containers[0].Image
		if web.Spec.Paused || runs != image || status.ObservedGeneration != web.Generation ||
			status.UpdatedReplicas != *web.Spec.Replicas || status.AvailableReplicas != *web.Spec.Replicas ||
			status.Replicas != *web.Spec.Replicas {
			return fmt.Errorf("want all pods at %s, paused is %t, the image %s, the status %+v", image, web.Spec.Paused, runs, status)
		}
		return nil
	})
	return web
}
