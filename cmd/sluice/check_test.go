package main

import (
	"errors"
	"regexp"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestCheck: the command reports what is fit and what is not, each with a remedy, to users with
// all rights and to those with few.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1alpha1.LeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(time.Now())),
		},
	})
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}
	source.Spec.URL = "file://" + t.TempDir()
	s.create(source)
	s.deploy("web")
	follower := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"}}
	follower.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"}
	follower.Spec.Follow, follower.Spec.Strategy.Steps = v1alpha1.FollowWorkload, []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}
	s.create(follower)
	s.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "left", Labels: map[string]string{v1alpha1.FollowLabel: "gone"}},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "left"}}, Template: podTemplate("left", 1)},
	})
	cptest.Eventually(t, soon, func() error {
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(source), source)
		if err == nil && !meta.IsStatusConditionFalse(source.Status.Conditions, v1alpha1.ConditionReady) {
			err = errors.New("want the source said not to be readable")
		}
		return err
	})

	spaces := regexp.MustCompile(` {2,}`)
	admin := s.as("admin", "check", "--as-group=system:masters")
	s.want(spaces.ReplaceAllString(admin.stdout, "|"), "ok|Kubernetes|version v1.", "ok|kind batchreleases.rollouts.sluice.dev|installed\n",
		"|policy gates.rollouts.sluice.dev|", "|policy followed-workloads.rollouts.sluice.dev|", "warning|batchrelease/none|WorkloadNotFound: Deployment", "ok|controller|somebody holds the Lease ", "|rights of system:serviceaccount:",
		"|releasesource/shop repository|", "warning|releasesource/shop forge|there is none", "-> set spec.forge", `warning|deployment/left|the label rollouts.sluice.dev/follow names BatchRelease "gone"`,
		"ok|batchrelease/web|all pods run revision ")
	if admin.code != exitError || admin.stderr != "sluice: some checks failed\n" {
		t.Errorf("want exit code %d for a source that can't be read, got %d, %q", exitError, admin.code, admin.stderr)
	}
	viewer := s.as(s.viewer(), "check")
	s.want(spaces.ReplaceAllString(viewer.stdout, "|"), "warning|kind gates.rollouts.sluice.dev|you may not look at it\n", "warning|controller|you may not look at it")
	s.want(s.as("admin", "check", "--as-group=system:masters", "--source=none").stderr, "no source none in namespace "+s.namespace)
}
