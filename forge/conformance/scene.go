package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// Scene is a release that waits for a gate, in a repository of its own.
type Scene struct {
	testing.TB
	Repository

	client forge.Client
	gate   *v1alpha1.Gate
	domain string
	dir    string
	number int
}

// patience bounds the wait for what a forge does in its own time.
const patience = 2 * time.Minute

func newScene(t testing.TB, f Forge, name string) *Scene {
	t.Helper()
	of := f.New(t, name)
	s := &Scene{TB: t, Repository: of, client: of.Client(t), domain: f.Domain(), dir: t.TempDir()}
	s.Join(Write, "ada", "grace", "eve")
	return s
}

// Git runs git in somebody's clone, which is made the first time.
func (s *Scene) Git(login string, args ...string) string {
	s.Helper()
	dir := filepath.Join(s.dir, login)
	if _, err := os.Stat(dir); err != nil {
		s.run(s.dir, "clone", "-q", "-c", "protocol.version=0", "-c", "user.name="+login, "-c", "user.email="+login+"@"+s.domain, s.CloneURL(login), login)
	}
	return s.run(dir, args...)
}

func (s *Scene) run(dir string, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = gittest.Environment()
	var output, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &problem
	if err := cmd.Run(); err != nil {
		s.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(output.String())
}

// Commit commits a file on top of a branch as somebody, in an author's name, and pushes it.
func (s *Scene) Commit(login, author, branch, path, content string) string {
	s.Helper()
	s.Git(login, "fetch", "-q", "origin")
	s.Git(login, "checkout", "-q", "-B", branch, "origin/"+branch)
	return s.commit(login, author, branch, path, content)
}

// Branch makes a branch with a commit on top of the tracked one.
func (s *Scene) Branch(login, author, branch, path, content string) string {
	s.Helper()
	s.Git(login, "fetch", "-q", "origin")
	s.Git(login, "checkout", "-q", "-B", branch, "origin/main")
	return s.commit(login, author, branch, path, content)
}

func (s *Scene) commit(login, author, branch, path, content string) string {
	s.Helper()
	file := filepath.Join(s.dir, login, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		s.Fatal(err)
	}
	s.Git(login, "add", path)
	s.Git(login, "-c", "user.name="+author, "-c", "user.email="+author+"@"+s.domain, "commit", "-q", "-m", "Change "+path)
	s.Git(login, "push", "-q", "origin", branch)
	return s.Git(login, "rev-parse", "HEAD")
}

// Head returns the commit of a branch.
func (s *Scene) Head(branch string) string {
	s.Helper()
	s.Git("ada", "fetch", "-q", "--prune", "origin")
	return s.Git("ada", "rev-parse", "origin/"+branch)
}

// Wait makes the gate that the release of the head of the branch waits for, after a stable commit,
// and opens its pull request.
func (s *Scene) Wait(stable string, policy v1alpha1.PullRequestGate) {
	s.Helper()
	s.gate = &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f9c-3-0-0", CreationTimestamp: metav1.Now()},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "uid-web"}, Revision: "7f9c", Attempt: 3,
			Type: v1alpha1.GatePullRequest, Policy: v1alpha1.GatePolicy{PullRequest: &policy},
			Commit: s.Head("main"), StableCommit: stable, Nonce: strings.ToLower(rand.Text()),
		},
	}
	request := s.request()
	request.First = true
	pull := s.openAs(request)
	s.number = pull.Number
	s.gate.Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, PullRequest: &v1alpha1.PullRequestReference{
		Source: v1alpha1.SourceReference{Namespace: "shop", Name: "main"}, Branch: record.Branch(s.gate), Number: int64(pull.Number), URL: pull.URL, Head: pull.Written,
	}}
}

// request returns the request for the gate's pull request.
func (s *Scene) request() forge.ChangeRequest {
	return forge.ChangeRequest{
		Branch: record.Branch(s.gate), Base: "main", Path: record.Path("shop", "web"), Content: record.Format(record.Of(s.gate)),
		Tip: s.Head("main"), Message: "Approve web", At: s.gate.CreationTimestamp.Time, Title: "Approve web", Body: "Merging lets the next batch go.\n",
	}
}

// open opens the gate's pull request, or finds it.
func (s *Scene) open() forge.PullRequest {
	s.Helper()
	return s.openAs(s.request())
}

func (s *Scene) openAs(request forge.ChangeRequest) forge.PullRequest {
	s.Helper()
	var pull forge.PullRequest
	s.settle("open the pull request", func(ctx context.Context) (err error) {
		pull, err = s.client.OpenChange(ctx, request)
		return err
	})
	return pull
}

// settle does something until no error is left that goes away by itself.
func (s *Scene) settle(what string, do func(context.Context) error) {
	s.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		if kind := forge.KindOf(last); kind == forge.Transient || kind == forge.Conflict {
			return false, nil
		}
		return true, last
	})
	if err != nil {
		s.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

// source returns the source as Git shows it.
func (s *Scene) source() *v1alpha1.ReleaseSource {
	s.Helper()
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"},
		Spec: v1alpha1.ReleaseSourceSpec{
			Ref: v1alpha1.GitReference{Branch: "main"}, Forge: &v1alpha1.Forge{Owner: "shop", Repo: "web"},
		},
		Status: v1alpha1.ReleaseSourceStatus{ObservedCommit: s.Head("main")},
	}
	blob := s.Git("ada", "ls-tree", "--object-only", "origin/main", record.Path("shop", "web"))
	if blob == "" {
		return source
	}
	found, err := record.Parse([]byte(s.Git("ada", "cat-file", "blob", blob)))
	if err != nil {
		return source
	}
	found.Blob = blob
	source.Status.Approvals = []v1alpha1.ApprovalRecord{found}
	return source
}

// Judge decides the gate by what the forge says.
func (s *Scene) Judge() v1alpha1.GateStatus {
	s.Helper()
	var decision gate.Decision
	s.settle("judge the gate", func(ctx context.Context) (err error) {
		decision, err = s.judge(ctx)
		return err
	})
	return decision.Status
}

func (s *Scene) judge(ctx context.Context) (gate.Decision, error) {
	facts := gate.Facts{Source: s.source(), Forge: &gate.ForgeFacts{OwnPrefix: "sluice/"}, Release: &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web"},
		Status: v1alpha1.BatchReleaseStatus{
			Attempt: 3, UpdateRevision: "7f9c", CurrentStepState: v1alpha1.StepBlocking,
			Gates: []v1alpha1.GateReference{{Name: s.gate.Name, Type: s.gate.Spec.Type, Decision: v1alpha1.DecisionWaiting}},
		},
	}}
	var err error
	if facts.Forge.Self, err = s.client.Self(ctx); err != nil {
		return gate.Decision{}, err
	}
	approval, err := s.client.ReadApproval(ctx, gate.Query(s.gate, facts))
	if err != nil {
		return gate.Decision{}, err
	}
	facts.Forge.Approval = &approval
	if approval.Permissions, err = s.client.Permissions(ctx, gate.Candidates(s.gate, facts)...); err != nil {
		return gate.Decision{}, err
	}
	return gate.Evaluate(s.gate, facts, time.Now()), nil
}
