package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestSync: a new push is read at once, and its errors are reported with file and line.
func TestSync(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	operator := s.person("operator", "sluice-operator")
	repository := t.TempDir()
	s.git(repository, "init", "--quiet", "--initial-branch=main")
	s.commit(repository, "README.md", "nothing to release\n")
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}
	source.Spec.URL = "file://" + repository
	source.Spec.Interval.Duration = 24 * time.Hour // the test says when to look
	s.create(source)
	s.want(s.ok(operator, "sync", "shop"), "releasesource.rollouts.sluice.dev/shop read at commit ")

	s.commit(repository, "web.yaml", "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: web}\nspek: {}\n")
	got := s.as(operator, "sync")
	s.want(got.stderr, "web.yaml:4: ", "releasesource/shop: FilesInvalid: ")
	if got.code != exitError {
		t.Errorf("want exit code %d for files that are wrong, got %d", exitError, got.code)
	}
	s.deploy("api")
	s.patch("api", map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.SourceLabel: "shop"}}})
	listed := s.as(operator, "list")
	s.want(listed.stderr, "releasesource/shop: FilesInvalid: ")
	s.want(s.ok(s.person("onlooker", "view", "sluice-viewer"), "get", "api"), "✖ releasesource/shop ", " FilesInvalid: web.yaml:4: ")
	s.patch("api", map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.SourceLabel: nil}}})
	s.want(s.as(operator, "sync", "batchrelease/api").stderr, "comes from no ReleaseSource")
	s.patch("api", map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.SourceLabel: "shop"}}})
	s.want(s.ok(operator, "sync", "br/api", "--wait=false"), "/shop to be read")
	s.want(s.as(s.viewer(), "sync", "shop").stderr, `cannot patch resource "releasesources"`)
}

// TestSyncWhileTheSourceChanges has somebody write the source between the read of it and each of
// the first requests.
func TestSyncWhileTheSourceChanges(t *testing.T) {
	t.Parallel()
	s := &shop{T: t, namespace: cptest.Namespace(t), client: cptest.Client(t)} // a controller would write the source, too
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}
	source.Spec.URL = "file://" + t.TempDir()
	s.create(source)
	direct, err := client.NewWithWatch(cptest.Config(t), client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	busy := interceptor.NewClient(direct, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if rounds++; rounds < act.Tries {
				label := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"round":"%d"}}}`, rounds))
				if err := c.Patch(ctx, source.DeepCopy(), label); err != nil {
					return err
				}
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	if err := new(actFlags).requestSync(t.Context(), &cluster{WithWatch: busy}, source, "now"); err != nil {
		t.Fatal(err)
	}
	if rounds < act.Tries {
		t.Errorf("%d requests, want %d: nobody was in the way", rounds, act.Tries)
	}
}

func (s *shop) git(folder string, args ...string) {
	s.Helper()
	command := exec.CommandContext(s.Context(), "git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	if out, err := command.CombinedOutput(); err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (s *shop) commit(repository, file, content string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(repository, file), []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
	s.git(repository, "add", "--all")
	s.git(repository, "commit", "--quiet", "--message", "change "+file)
}
