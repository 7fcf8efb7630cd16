package journeys

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea/giteatest"
)

// giteaWorld is a world whose releases come from a repository on a Gitea.
type giteaWorld struct {
	*forgeWorld
	server *devgitea.Server
	tokens map[string]string
}

// newGiteaWorld starts a Gitea with a repository that holds ten pods of web:1 and the steps, and a
// controller that follows it and takes its webhooks.
func newGiteaWorld(t *testing.T, steps ...v1alpha1.Step) *giteaWorld {
	t.Helper()
	w := &giteaWorld{forgeWorld: &forgeWorld{world: newWorld(t)}, server: giteatest.Start(t), tokens: map[string]string{}}
	w.file = w.deploymentFile
	files := map[string]string{"web.yaml": string(w.file("web:1")), "release.yaml": string(releaseFile("Deployment", steps))}
	if err := w.server.CreateRepository(t.Context(), "shop", "releases", "main", files); err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"sluice", "ada", "grace", "ci"} {
		token, err := w.server.CreateUser(t.Context(), login)
		if err != nil {
			t.Fatal(err)
		}
		w.tokens[login] = token
		w.do("", http.MethodPut, "/collaborators/"+login, map[string]string{"permission": "write"}, nil)
	}
	least, err := w.server.CreateToken(t.Context(), "sluice", "write:repository", "write:issue", "read:user")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	w.options = func(o *app.Options) { o.WebhookAddress = address }
	w.do("", http.MethodPost, "/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request", "pull_request_review", "status"},
		"config": map[string]string{
			"url": "http://" + address + "/hooks/" + w.namespace + "/shop", "content_type": "json", "secret": webhookSecret,
		},
	}, nil)
	w.create(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "git"}, StringData: map[string]string{"username": "sluice", "password": least}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "forge"}, StringData: map[string]string{"token": least}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, StringData: map[string]string{"secret": webhookSecret}},
	)
	w.startController()
	w.create(&v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL: w.server.URL() + "/shop/releases.git", Interval: metav1.Duration{Duration: time.Hour},
			SecretRef: &v1alpha1.LocalReference{Name: "git"}, WebhookSecretRef: &v1alpha1.LocalReference{Name: "hook"},
			Forge: &v1alpha1.Forge{
				Type: v1alpha1.ForgeGitea, BaseURL: w.server.URL(), Owner: "shop", Repo: "releases",
				SecretRef: v1alpha1.LocalReference{Name: "forge"}, Interval: metav1.Duration{Duration: 5 * time.Second},
			},
		},
	})
	w.await(all(web.completed, web.serves("web:1", 10)))
	return w
}

// do sends a request about the repository as somebody, which must succeed.
func (w *giteaWorld) do(login, method, path string, in, out any) {
	w.Helper()
	err := devgitea.Until(w.Context(), func(ctx context.Context) error {
		return w.server.Call(ctx, w.tokens[login], method, "/repos/shop/releases"+path, in, out)
	})
	if err != nil {
		w.Fatalf("as %s: %v", login, err)
	}
}

// to commits an image of web as somebody and returns the commit.
func (w *giteaWorld) to(login, image string) string {
	w.Helper()
	var known struct{ SHA string }
	w.do(login, http.MethodGet, "/contents/web.yaml", nil, &known)
	var made struct{ Commit struct{ SHA string } }
	w.do(login, http.MethodPut, "/contents/web.yaml", map[string]string{
		"message": "Run " + image, "branch": "main", "sha": known.SHA, "content": base64.StdEncoding.EncodeToString(w.file(image)),
	}, &made)
	return made.Commit.SHA
}

func (w *giteaWorld) review(login string, number int64) {
	w.Helper()
	w.do(login, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number), map[string]string{"event": "APPROVED", "body": "Good."}, nil)
}

func (w *giteaWorld) merge(login string, number int64) {
	w.Helper()
	w.do(login, http.MethodPost, fmt.Sprintf("/pulls/%d/merge", number), map[string]string{"Do": "merge"}, nil)
}

// awaitState waits until the newest status of a commit in the release's context has a state.
func (w *giteaWorld) awaitState(sha, state string) {
	w.Helper()
	type status struct {
		ID      int64
		Context string
		State   string `json:"status"`
	}
	cptest.Eventually(w, soon, func() error {
		var all []status
		w.do("ada", http.MethodGet, "/statuses/"+sha, nil, &all)
		all = slices.DeleteFunc(all, func(s status) bool { return s.Context != w.context() })
		if len(all) == 0 {
			return errors.New("want a status, got none")
		}
		newest := slices.MaxFunc(all, func(a, b status) int { return int(a.ID - b.ID) })
		if newest.State != state {
			return fmt.Errorf("want status %s, got %s", state, newest.State)
		}
		return nil
	})
}

// TestGitea: on a real Gitea, with a token of the least rights, a push starts a release; its author
// can't approve it, another person does; a status of CI opens the next batch; a pull request that
// is closed takes the next release back. Webhooks alone tell Sluice.
func TestGitea(t *testing.T) {
	gate := pullRequest(v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true})
	gate.OnReject = v1alpha1.RejectRollback
	w := newGiteaWorld(t, step(3, gate), step("50%", commitStatus("ci/smoke", "ci")), step("100%"))
	commit := w.to("ada", "web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:2": 3})))
	number := w.awaitPull(0)
	w.awaitState(commit, "pending")
	w.review("ada", number)
	w.merge("ada", number)
	w.await(web.says("ada"))
	w.review("grace", number)
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.do("ci", http.MethodPost, "/statuses/"+commit, map[string]string{"state": "success", "context": "ci/smoke"}, nil)
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.awaitState(commit, "success")

	w.to("ada", "web:3")
	w.await(web.blocksAt(0))
	w.do("grace", http.MethodPatch, fmt.Sprintf("/pulls/%d", w.awaitPull(0)), map[string]string{"state": "closed"}, nil)
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.serves("web:2", 10)))
}
