package dashboard

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

// TestTemplateNotInGitByButton: an approver lets Git replace a template that no commit changed. The
// page says that the first batch comes next.
func TestTemplateNotInGitByButton(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	a.comesToGit(2)
	ada := a.person("ada", "view", "sluice-approver")
	want(t, ada.get(ada.path("")).text, "the workload runs another template than the one in Git")
	ada.wantButtons("Approve, Reject")
	_, page := ada.form("approve")
	want(t, page, "<h1>Approve: web</h1>", "The template in Git replaces the one that the workload runs", "Next, batch 1 of 3 begins: 1 pod.")
	want(t, ada.click("approve"), "You have approved the start of the release.")
	a.await("in its first batch", func(r *v1alpha1.BatchRelease) bool { return r.Status.StepStartedAt != nil })
	a.atBatch(1)
}

// comesToGit replaces the release by one from Git with another version.
func (a *acts) comesToGit(number int) {
	a.Helper()
	release := a.await("there", func(*v1alpha1.BatchRelease) bool { return true })
	if err := a.admin.Delete(a.Context(), release.DeepCopy()); err != nil {
		a.Fatal(err)
	}
	cptest.Eventually(a.T, soon, func() error {
		if err := a.admin.Get(a.Context(), client.ObjectKeyFromObject(release), &v1alpha1.BatchRelease{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("want the release gone"), err)
		}
		return nil
	})
	release.ObjectMeta = metav1.ObjectMeta{Namespace: a.namespace, Name: "web", Labels: map[string]string{v1alpha1.SourceLabel: "shop"}}
	release.Spec.Template = &runtime.RawExtension{Raw: a.encode(template(number))}
	a.create(release)
	a.await("not as in Git", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.Reason == v1alpha1.ReasonNotAsInGit && len(r.Status.Gates) == 1
	})
}
