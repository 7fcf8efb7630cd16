package approvals_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// forgeWorld is a world with a forge, on which the test plays the people; in the cluster it also
// plays gitsync, which tells what is on the branch, and rollout, which opens gates.
type forgeWorld struct {
	*world
	forge  *devforge.Forge
	tokens map[string]string
	// apps are the numbers of apps, by slug.
	apps map[string]int64
	// commit is the release commit, and stable the one before.
	commit, stable string
	// more are namespaces that are watched, too.
	more []string
}

// newForgeWorld starts a forge with the repository shop/web and makes the source "shop" of it. We
// are sluice; ada, grace, eve and ci are others.
func newForgeWorld(t *testing.T) *forgeWorld {
	t.Helper()
	w := &forgeWorld{world: newWorld(t), apps: map[string]int64{}}
	w.forge = forgetest.Start(t, devforge.Options{Dir: t.TempDir()})
	seed := fstest.MapFS{"web.yaml": {Data: []byte("image: web:1\n")}}
	if err := w.forge.CreateRepository(t.Context(), "shop/web", "main", seed); err != nil {
		t.Fatal(err)
	}
	w.tokens = forgetest.Invite(t, w.forge, "shop/web", "sluice", "ada", "grace", "eve", "ci")
	w.stable = w.write("ada", "main", "README", "The shop.\n")
	w.commit = w.write("ada", "main", "web.yaml", "image: web:2\n")
	w.addSource("shop", w.forge.URL())
	return w
}

// addSource makes a source of the repository on the forge at an address.
func (w *forgeWorld) addSource(name, address string) *v1alpha1.ReleaseSource {
	w.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-forge"},
		StringData: map[string]string{"token": w.tokens["sluice"]},
	}
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL: w.forge.CloneURL("shop/web"),
			Forge: &v1alpha1.Forge{
				BaseURL: address, Owner: "shop", Repo: "web",
				SecretRef: v1alpha1.LocalReference{Name: secret.Name},
				Interval:  metav1.Duration{Duration: time.Hour}, // the tests say when to look
			},
		},
	}
	for _, object := range []client.Object{secret, source} {
		if err := w.Create(w.Context(), object); err != nil {
			w.Fatalf("create %T: %v", object, err)
		}
	}
	w.sync(name)
	return source
}

// sync does what gitsync does: it tells what is at the tip of the branch.
func (w *forgeWorld) sync(source string) {
	w.Helper()
	var tip struct {
		SHA    string
		Commit struct{ Tree struct{ SHA string } }
	}
	w.as("ada").Do("GET", "commits/main", nil, &tip)
	status := map[string]any{"observedCommit": tip.SHA, "observedTree": tip.Commit.Tree.SHA, "approvals": w.records(tip.SHA)}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		w.Fatal(err)
	}
	object := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: source}}
	err = w.Status().Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(v1alpha1.OwnerGitsync))
	if err != nil {
		w.Fatalf("write status of source: %v", err)
	}
}

// records returns the records of all releases in the world, at a commit.
func (w *forgeWorld) records(commit string) []v1alpha1.ApprovalRecord {
	w.Helper()
	var releases v1alpha1.BatchReleaseList
	if err := w.List(w.Context(), &releases, client.InNamespace(w.namespace)); err != nil {
		w.Fatalf("list releases: %v", err)
	}
	found := []v1alpha1.ApprovalRecord{}
	for i := range releases.Items {
		var file struct{ SHA, Content string }
		path := record.Path(w.namespace, releases.Items[i].Name)
		if w.as("ada").Try("GET", "contents/"+path+"?ref="+commit, nil, &file) != http.StatusOK {
			continue
		}
		content, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(file.Content, "\n", ""))
		if err != nil {
			w.Fatal(err)
		}
		if parsed, err := record.Parse(content); err == nil {
			parsed.Blob = file.SHA
			found = append(found, parsed)
		}
	}
	return found
}

// loopbackForges returns clients for forges on loopback, with a timeout.
func loopbackForges(timeout time.Duration) approvals.Forges {
	return connect.New(loopbackOptions(timeout))
}

// limitedForges returns clients that send so many writes in an hour.
func limitedForges(writes int) approvals.Forges {
	options := loopbackOptions(soon)
	options.WritesPerHour = writes
	return connect.New(options)
}

func loopbackOptions(timeout time.Duration) connect.Common {
	networks := dialer.Rules{Allowed: dialer.Loopback()}
	git := gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: networks})
	return connect.Common{Git: git, Timeout: timeout, AllowHTTP: true, Networks: networks}
}

// startForgeApprovals runs all of the part until stop or the end of the test.
func (w *forgeWorld) startForgeApprovals(change ...func(*approvals.Options)) (stop func()) {
	w.Helper()
	cfg := cptest.Config(w)
	cfg.QPS = -1
	namespaces := map[string]cache.Config{w.namespace: {}}
	for _, namespace := range w.more {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     w.Scheme(),
		Logger:     logr.FromSlogHandler(slog.DiscardHandler),
		Cache:      cache.Options{DefaultNamespaces: namespaces, DefaultTransform: cache.TransformStripManagedFields()},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Pod{}, &corev1.Secret{}}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		w.Fatalf("make manager: %v", err)
	}
	// What is not asked how long it waits for the forge has time, on a machine in use too.
	options := approvals.Options{Forges: loopbackForges(soon)}
	for _, c := range change {
		c(&options)
	}
	if err := approvals.Setup(mgr, options); err != nil {
		w.Fatalf("set up approvals: %v", err)
	}
	return w.run(mgr.Start)
}

// releaseFrom makes a release that a source brought, and that is in its first batch.
func (w *forgeWorld) releaseFrom(source, name string) *v1alpha1.BatchRelease {
	w.Helper()
	release := w.release(name)
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q},"annotations":{%q:%q}}}`,
		v1alpha1.SourceLabel, source, v1alpha1.CommitAnnotation, w.commit)
	if err := w.Patch(w.Context(), release, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatalf("label release: %v", err)
	}
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.Commit, status.State, status.StepStartedAt = w.commit, v1alpha1.StateRolling, new(metav1.Now())
		status.Replicas, status.TargetReplicas, status.UpdatedReplicas = 10, 1, 1
	})
	return release
}

// blockOn has a release wait at a gate of a policy, as rollout does.
func (w *forgeWorld) blockOn(release *v1alpha1.BatchRelease, policy v1alpha1.GatePolicy) *v1alpha1.Gate {
	w.Helper()
	status := &release.Status
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace,
			Name:      fmt.Sprintf("%s-%s-%d-%d-0", release.Name, status.UpdateRevision, status.Attempt, status.CurrentStepIndex),
		},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: release.Name, UID: release.UID},
			Revision:   status.UpdateRevision, Attempt: status.Attempt, Step: status.CurrentStepIndex, Commit: status.Commit,
			StableCommit: w.stable, Type: policy.Type(), Policy: policy, Nonce: strings.ToUpper(string(release.UID)) + fmt.Sprint(status.CurrentStepIndex),
		},
	}
	if err := w.Create(w.Context(), g); err != nil {
		w.Fatalf("create gate: %v", err)
	}
	w.block(release, g)
	return g
}

// awaitPull waits until a gate has its pull request and returns its number.
func (w *forgeWorld) awaitPull(g *v1alpha1.Gate) int64 {
	w.Helper()
	var number int64
	cptest.Eventually(w, soon, func() error {
		status := w.readGate(g).Status
		if status.PullRequest == nil || status.PullRequest.Number == 0 {
			return fmt.Errorf("want a pull request, got %+v", status)
		}
		number = status.PullRequest.Number
		return nil
	})
	return number
}

// hint has a gate looked at now, as a webhook would.
func (w *forgeWorld) hint(g *v1alpha1.Gate) {
	w.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, time.Now().Format(time.RFC3339Nano))
	if err := w.Patch(w.Context(), g.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatalf("hint: %v", err)
	}
}

// awaitMessage waits until a gate says that.
func (w *forgeWorld) awaitMessage(g *v1alpha1.Gate, says string) v1alpha1.GateStatus {
	w.Helper()
	var status v1alpha1.GateStatus
	cptest.Eventually(w, soon, func() error {
		if status = w.readGate(g).Status; !strings.Contains(status.Message, says) {
			return fmt.Errorf("want the gate to say %q, got %q", says, status.Message)
		}
		return nil
	})
	return status
}

// as returns somebody who works with the API of the forge.
func (w *forgeWorld) as(login string) forgetest.User {
	return forgetest.As(w, w.forge, "shop/web", login, w.tokens[login])
}

// write commits a file and returns the commit.
func (w *forgeWorld) write(login, branch, path, content string) string {
	w.Helper()
	return w.as(login).Put(branch, path, []byte(content))
}
