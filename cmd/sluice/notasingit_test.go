package main

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestApproveTemplateNotInGit: an approver lets Git replace a template that no commit changed, with
// the command that the message names. Nothing begins before. A rejection is final.
func TestApproveTemplateNotInGit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	approver, viewer := s.person("approver", "sluice-approver"), s.viewer()
	for _, name := range []string{"web", "api"} {
		s.deploy(name)
		s.comesToGit(name, 2)
	}
	s.want(s.ok(viewer, "get", "web"), "the workload runs another template than the one in Git", "sluice approve web -n "+s.namespace)
	s.want(s.as(viewer, "approve", "web").stderr, `cannot patch resource "batchreleases/status"`)

	s.ok(approver, "reject", "api", "--reason=the tag is Flux's")
	rejected := s.await("api", "rejected", func(status *v1alpha1.BatchReleaseStatus) bool { return status.State == v1alpha1.StateRejected })
	s.want(rejected.Status.Message, "the workload keeps a template that is not in Git", "rejected by "+approver+": the tag is Flux's")

	s.ok(approver, "approve", "web")
	s.await("web", "at the gate of its first batch", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.StepStartedAt != nil && status.CurrentStepState == v1alpha1.StepBlocking && len(status.Gates) > 0
	})
	s.ok(approver, "approve", "web")
	s.await("web", "completed", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseCompleted })
}

// comesToGit replaces a release by one from Git with another version.
func (s *shop) comesToGit(name string, number int) {
	s.Helper()
	release := s.release(name)
	if err := s.client.Delete(s.Context(), release.DeepCopy()); err != nil {
		s.Fatal(err)
	}
	cptest.Eventually(s.T, soon, func() error {
		if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(release), &v1alpha1.BatchRelease{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("want the release gone"), err)
		}
		return nil
	})
	release.ObjectMeta = metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{v1alpha1.SourceLabel: "shop"}}
	release.Spec.Template = &runtime.RawExtension{Raw: s.encode(podTemplate(name, number))}
	s.create(release)
	s.await(name, "not as in Git", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Reason == v1alpha1.ReasonNotAsInGit && len(status.Gates) == 1
	})
}
