package approvals_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// awaitForge waits until the source "shop" says that of its forge.
func (w *forgeWorld) awaitForge(want metav1.ConditionStatus, reason string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		source := &v1alpha1.ReleaseSource{}
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionForgeReady)
		if ready == nil || ready.Status != want || ready.Reason != reason || ready.Message == "" {
			return fmt.Errorf("want ForgeReady %s for %s, got %+v", want, reason, ready)
		}
		return nil
	})
}

// TestForgeReady: a source says whether its forge lets us work, before anything is to be done
// there.
func TestForgeReady(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeConnected)

	w.setForge(`{"repo":"nowhere"}`)
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeNotFound)
	w.setForge(`{"repo":"web"}`)
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeConnected)
	w.setForge(`{"owner":"-"}`)
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeInvalid)
	w.setForge(`{"owner":"shop","secretRef":{"name":"none"}}`)
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeRefused)
	w.setForge(`{"secretRef":{"name":"shop-forge"}}`)
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeConnected)

	w.forge.RevokeToken(w.tokens["sluice"])
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeRefused)
	w.awaitMessage(g, "can't be asked")
}

// TestForgeIsNotReady: while a forge limits us, or can't be reached, the source says so.
func TestForgeIsNotReady(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	off := w.forge.Inject(devforge.Fault{Kind: devforge.FaultStatus, Status: 503})
	w.startForgeApprovals()
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeUnreachable)
	off()
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeConnected)
}

func (w *forgeWorld) setForge(patch string) {
	w.Helper()
	cptest.Kubectl(w, "--namespace", w.namespace, "patch", "releasesource", "shop", "--type=merge", "-p", `{"spec":{"forge":`+patch+`}}`)
}

// TestStatusOutlivesBadCredentials: a status that is due while the Secret can't be used is posted
// once it can.
func TestStatusOutlivesBadCredentials(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.setForge(`{"interval":"5s"}`)
	w.setSecretData(`{"appID":"1","privateKey":"none"}`) // beside the token
	w.startForgeApprovals()
	w.releaseFrom("shop", "web")
	w.awaitMessage(w.blockOn(w.releaseFrom("shop", "api"), approval()), "can't be asked") // nor was the status taken
	w.awaitForge(metav1.ConditionFalse, v1alpha1.ReasonForgeInvalid)
	w.setSecretData(`{"appID":"","privateKey":""}`)
	w.awaitForge(metav1.ConditionTrue, v1alpha1.ReasonForgeConnected)
	cptest.Eventually(t, soon, func() error {
		if len(w.statuses("sluice/"+w.namespace+"/web")) == 0 {
			return errors.New("want a status of the release")
		}
		return nil
	})
}
