package approvals_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func approval() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}
}

type pull struct {
	Number int64
	State  string
	Merged bool
	Body   string
	Head   struct{ Ref string }
}

func (w *forgeWorld) pulls() []pull {
	w.Helper()
	var listed []pull
	w.as("ada").Do("GET", "pulls?state=all&per_page=100", nil, &listed)
	return listed
}

func (w *forgeWorld) hasBranch(name string) bool {
	w.Helper()
	return w.as("ada").Try("GET", "git/ref/heads/"+name, nil, nil) == http.StatusOK
}

// TestApprovalIsMerged: a gate opens one pull request, passes by its merge once Git shows it, and
// leaves no branch.
func TestApprovalIsMerged(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	release := w.releaseFrom("shop", "web")
	g := w.blockOn(release, approval())
	number := w.awaitPull(g)
	branch := w.readGate(g).Status.PullRequest.Branch
	if !w.hasBranch(branch) {
		t.Fatalf("want branch %s on the forge", branch)
	}
	merged := w.as("grace").Merge(number, "squash")
	w.hint(g)
	w.awaitMessage(g, "was merged") // but Git has not shown it
	if w.readGate(g).Status.Decision != v1alpha1.DecisionWaiting {
		t.Fatal("want the gate closed until Git has the record on the branch")
	}
	w.sync("shop")
	status := w.awaitDecision(g, v1alpha1.DecisionPassed)
	if !slices.ContainsFunc(status.Evidence, func(e v1alpha1.Evidence) bool {
		return e.Actor == "grace" && e.ActorID != 0 && e.ID == number && e.SHA == merged && e.URL != "" && e.Time != nil
	}) {
		t.Errorf("want who merged what and when as evidence, got %+v", status.Evidence)
	}
	cptest.Eventually(t, soon, func() error {
		if now := w.readGate(g); len(now.Finalizers) > 0 || w.hasBranch(branch) {
			return fmt.Errorf("want nothing left to clean up, got finalizers %v, branch %t", now.Finalizers, w.hasBranch(branch))
		}
		return nil
	})
	if pulls := w.pulls(); len(pulls) != 1 {
		t.Errorf("want one pull request, got %d", len(pulls))
	}
}

// TestApprovalIsForced: a gate that is forced passes without its pull request, which is closed with
// who did that and why.
func TestApprovalIsForced(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	number := w.awaitPull(g)
	cptest.Kubectl(t, "--namespace", w.namespace, "patch", "gate", g.Name, "--type=merge", "--subresource=status",
		"-p", `{"status":{"force":{"by":"ada","reason":"INC-42"}}}`)
	status := w.awaitDecision(g, v1alpha1.DecisionPassed)
	if len(status.Evidence) != 1 || status.Evidence[0].Kind != "Forced" || status.Evidence[0].Actor != "ada" || status.Evidence[0].Detail != "INC-42" {
		t.Errorf("want who forced it and why as the only evidence, got %+v", status.Evidence)
	}
	w.awaitEvent("GateForced")
	cptest.Eventually(t, soon, func() error {
		if pulls := w.pulls(); len(pulls) != 1 || pulls[0].State != "closed" || pulls[0].Merged {
			return fmt.Errorf("want one pull request, closed unmerged, got %+v", pulls)
		}
		return nil
	})
	var comments []struct{ Body string }
	w.as("ada").Do("GET", fmt.Sprintf("issues/%d/comments", number), nil, &comments)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "the gate was forced by `ada`: `INC-42`") {
		t.Errorf("want a comment that says who forced it, got %+v", comments)
	}
}

// TestApprovalIsFoundAgain: the process after a crash finds the pull request of the one before.
func TestApprovalIsFoundAgain(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	stop := w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	number := w.awaitPull(g)
	stop()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))
	if err := w.Status().Patch(t.Context(), g.DeepCopy(), patch); err != nil {
		t.Fatalf("lose the status: %v", err)
	}
	w.startForgeApprovals()
	if again := w.awaitPull(g); again != number {
		t.Errorf("want pull request #%d again, got #%d", number, again)
	}
}

// TestVoidGateIsClosed: a gate that is void has its pull request closed, with a reason, and is gone
// after that.
func TestVoidGateIsClosed(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	number := w.awaitPull(g)
	branch := w.readGate(g).Status.PullRequest.Branch
	if err := w.Delete(t.Context(), g.DeepCopy()); err != nil {
		t.Fatalf("delete gate: %v", err)
	}
	w.awaitGone(g)
	if pulls := w.pulls(); len(pulls) != 1 || pulls[0].State != "closed" || pulls[0].Merged {
		t.Errorf("want the pull request closed, got %+v", pulls)
	}
	if w.hasBranch(branch) {
		t.Errorf("want branch %s gone", branch)
	}
	var comments []struct{ Body string }
	w.as("ada").Do("GET", fmt.Sprintf("issues/%d/comments", number), nil, &comments)
	if len(comments) != 1 || comments[0].Body == "" {
		t.Errorf("want one comment that says why, got %+v", comments)
	}
}

// TestVoidGateOfSourceThatIsGone: a gate does not stay for ever because the forge can't be asked
// any more.
func TestVoidGateOfSourceThatIsGone(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	w.awaitPull(g)
	source := &v1alpha1.ReleaseSource{}
	source.Namespace, source.Name = w.namespace, "shop"
	for _, object := range []client.Object{source, g.DeepCopy()} {
		if err := w.Delete(t.Context(), object); err != nil {
			t.Fatalf("delete %T: %v", object, err)
		}
	}
	w.awaitGone(g)
}

func (w *forgeWorld) awaitGone(g *v1alpha1.Gate) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		err := w.Get(w.Context(), client.ObjectKeyFromObject(g), g.DeepCopy())
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("want the gate gone, got %w", err)
	})
}

// TestSecretIsChanged: the gate says that credentials are refused, and new ones in the Secret are
// enough to go on.
func TestSecretIsChanged(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.forge.RevokeToken(w.tokens["sluice"])
	w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("shop", "web"), approval())
	w.awaitMessage(g, "can't be asked")
	token, err := w.forge.CreateToken("sluice", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.setSecret("shop-forge", token)
	w.hint(g)
	w.awaitPull(g)
}

func (w *forgeWorld) setSecret(name, token string) {
	w.Helper()
	cptest.Kubectl(w, "--namespace", w.namespace, "patch", "secret", name, "--type=merge",
		"-p", fmt.Sprintf(`{"stringData":{"token":%q}}`, token))
}

// setSecretData changes keys of the Secret of the source "shop".
func (w *forgeWorld) setSecretData(data string) {
	w.Helper()
	cptest.Kubectl(w, "--namespace", w.namespace, "patch", "secret", "shop-forge", "--type=merge", "-p", `{"stringData":`+data+`}`)
}

// TestReleaseFromNoSource: a release that was made by hand has no forge to ask.
func TestReleaseFromNoSource(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	g := w.blockOn(w.releaseFrom("none", "web"), approval())
	w.awaitMessage(g, "ReleaseSource")
	if strings.Contains(fmt.Sprint(w.readGate(g).Finalizers), v1alpha1.ForgeFinalizer) {
		t.Error("want no finalizer on a gate for which nothing can be open")
	}
}

// TestSourceOfAnotherNamespace: Anyone who may write to a namespace can set a label: it does not
// lend them the credentials of a source of another one, unless theirs is a namespace that sources
// share.
func TestSourceOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	there := func() *forgeWorld {
		other := *w
		other.world = &world{TB: t, Client: w.Client, namespace: cptest.Namespace(t)}
		w.more = append(w.more, other.namespace)
		return &other
	}
	foreign, shared := there(), there()
	w.startForgeApprovals(func(o *approvals.Options) { o.SharedNamespaces = []string{shared.namespace} })
	label := w.namespace + "_shop"
	number := shared.awaitPull(shared.blockOn(shared.releaseFrom(label, "web"), approval()))
	foreign.awaitMessage(foreign.blockOn(foreign.releaseFrom(label, "web"), approval()), "ReleaseSource")
	if pulls := w.pulls(); len(pulls) != 1 || pulls[0].Number != number {
		t.Errorf("want one pull request, that of the shared namespace, got %+v", pulls)
	}
}
