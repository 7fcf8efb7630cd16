package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestHandbackBesideController: while a controller runs the command refuses, unless it is forced.
func TestHandbackBesideController(t *testing.T) {
	t.Parallel()
	access, namespace := cptest.Access(t), cptest.Namespace(t)
	c := cptest.Client(t)
	err := c.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.LeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(time.Now())),
		},
	})
	if err != nil {
		t.Fatalf("create Lease: %v", err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"handback", "--all", "--kubeconfig=" + access.Kubeconfig, "--namespace=" + namespace}
	if code := run(t.Context(), args, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), "a controller runs") {
		t.Errorf("want exit code %d and to be told of the controller, got %d: %s", exitError, code, stderr.String())
	}
	if code := run(t.Context(), append(args, "--force"), &stdout, &stderr); code != exitOK {
		t.Errorf("want exit code %d when forced, got %d: %s", exitOK, code, stderr.String())
	}
	if want := "nothing to do: no Deployment is held\n"; stdout.String() != want {
		t.Errorf("want %q, got %q", want, stdout.String())
	}
	missing := []string{"handback", "web", "--force", "--kubeconfig=" + access.Kubeconfig, "-n", namespace}
	if code := run(t.Context(), missing, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), `"web" not found`) {
		t.Errorf("want exit code %d for a Deployment that is not there, got %d: %s", exitError, code, stderr.String())
	}
}
