package gitsync_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	product "github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// controllerEnv names, to a process of this program, the namespaces that it is the controller of,
// and has the cluster's kubeconfig in KUBECONFIG: the controller as it is delivered, except for the
// command line.
const controllerEnv = "SLUICE_TEST_CONTROLLER"

// runController returns the whole life of such a process.
func runController(namespaces []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard())
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		options := product.Options{Version: "test", Logger: logr.Discard(), Namespaces: namespaces}
		options.Git = gitrepo.Options{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}}
		options.Builds.Limits = sandbox.Limits{Time: 5 * time.Second, Total: 10 * time.Second} // so that a test need not wait for more
		mgr, failed := product.New(cfg, options)
		if err = failed; err == nil {
			err = mgr.Start(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startProcess runs the controller in a process of its own until the test ends, and returns its
// number.
func startProcess(t *testing.T, namespaces []string, environment ...string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), append(environment, controllerEnv+"="+strings.Join(namespaces, ","), "KUBECONFIG="+cptest.Access(t).Kubeconfig)...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("the controller ended with %v", err)
		}
	})
	return command.Process.Pid
}
