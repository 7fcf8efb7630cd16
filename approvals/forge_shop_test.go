package approvals_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// shop is a repository of its own on the forge of a world, with a source and a release from it.
// Faults of its requests affect no other shop.
type shop struct {
	*forgeWorld
	name string
	// secret is the name of the Secret that the source refers to.
	secret  string
	release *v1alpha1.BatchRelease
	gate    *v1alpha1.Gate
	number  int64
}

// newShop makes the repository shop/<name>, and a source of that name, of which nobody has heard
// before.
func (w *forgeWorld) newShop(name string, before ...func(*shop)) *shop {
	w.Helper()
	own := *w
	s := &shop{forgeWorld: &own, name: name, secret: "shop-forge"}
	seed := fstest.MapFS{"web.yaml": {Data: []byte("image: web:1\n")}}
	if err := w.forge.CreateRepository(w.Context(), "shop/"+name, "main", seed); err != nil {
		w.Fatal(err)
	}
	for login := range w.tokens {
		if err := w.forge.Grant("shop/"+name, login, devforge.RoleWrite); err != nil {
			w.Fatal(err)
		}
	}
	for _, act := range before {
		act(s)
	}
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL: w.forge.CloneURL("shop/" + name),
			Forge: &v1alpha1.Forge{
				BaseURL: w.forge.URL(), Owner: "shop", Repo: name,
				SecretRef: v1alpha1.LocalReference{Name: s.secret}, Interval: metav1.Duration{Duration: time.Hour},
			},
		},
	}
	if err := w.Create(w.Context(), source); err != nil {
		w.Fatalf("create source: %v", err)
	}
	s.commit = s.sync()
	s.stable = s.commit
	return s
}

// withOwnToken gives the source a token that no other source has, and so a rate limit of its own.
func withOwnToken(s *shop) {
	s.Helper()
	token, err := s.forge.CreateToken("sluice", nil)
	if err != nil {
		s.Fatal(err)
	}
	s.secret = s.name + "-forge"
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.secret}, StringData: map[string]string{"token": token},
	}
	if err := s.Create(s.Context(), secret); err != nil {
		s.Fatalf("create Secret: %v", err)
	}
}

// call sends a request to the repository, which must succeed.
func (s *shop) call(login, method, path string, body, answer any) {
	s.Helper()
	if status := s.try(login, method, path, body, answer); status >= http.StatusMultipleChoices {
		s.Fatalf("%s %s of %s as %s: status %d", method, path, s.name, login, status)
	}
}

func (s *shop) try(login, method, path string, body, answer any) (status int) {
	s.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	url := s.forge.APIURL() + "repos/shop/" + s.name + "/" + path
	request, err := http.NewRequestWithContext(s.Context(), method, url, bytes.NewReader(data))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.tokens[login])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && answer != nil && response.StatusCode < http.StatusMultipleChoices {
		err = json.Unmarshal(content, answer)
	}
	if err != nil {
		s.Fatalf("%s %s of %s as %s: %v", method, path, s.name, login, err)
	}
	return response.StatusCode
}

// sync does what gitsync does: it tells what is at the tip of the branch, and gives that.
func (s *shop) sync() string {
	s.Helper()
	var branch struct {
		Commit struct {
			SHA    string
			Commit struct{ Tree struct{ SHA string } }
		}
	}
	s.call("ada", http.MethodGet, "branches/main", nil, &branch)
	tip := branch.Commit
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedCommit": tip.SHA, "observedTree": tip.Commit.Tree.SHA, "approvals": s.records(tip.SHA),
	}})
	if err != nil {
		s.Fatal(err)
	}
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	err = s.Status().Patch(s.Context(), source, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(v1alpha1.OwnerGitsync))
	if err != nil {
		s.Fatalf("write status of source: %v", err)
	}
	return tip.SHA
}

// records returns the commit's records of the release's approval.
func (s *shop) records(commit string) []v1alpha1.ApprovalRecord {
	s.Helper()
	if s.release == nil {
		return []v1alpha1.ApprovalRecord{}
	}
	var file struct{ SHA, Content string }
	if s.try("ada", "GET", "contents/"+record.Path(s.namespace, s.name)+"?ref="+commit, nil, &file) != http.StatusOK {
		return []v1alpha1.ApprovalRecord{}
	}
	content, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(file.Content, "\n", ""))
	if err != nil {
		s.Fatal(err)
	}
	parsed, err := record.Parse(content)
	if err != nil {
		return []v1alpha1.ApprovalRecord{}
	}
	parsed.Blob = file.SHA
	return []v1alpha1.ApprovalRecord{parsed}
}

// begin starts the release of the shop.
func (s *shop) begin() *shop {
	s.Helper()
	s.release = s.releaseFrom(s.name, s.name)
	return s
}

// waits has the release wait at a gate.
func (s *shop) waits(policy v1alpha1.GatePolicy) *shop {
	s.Helper()
	s.awaitTold("batch 1/3") // what the test writes to the status must not meet what is written down of it
	s.gate = s.blockOn(s.release, policy)
	return s
}

// opened waits for the pull request of the gate.
func (s *shop) opened() *shop {
	s.Helper()
	s.number = s.awaitPull(s.gate)
	s.awaitTold(fmt.Sprintf("#%d", s.number))
	return s
}

// awaitTold waits until what was told last of the release, and written down, contains that.
func (s *shop) awaitTold(text string) {
	s.Helper()
	cptest.Eventually(s, soon, func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(s.release), s.release); err != nil {
			return err
		}
		if told := s.release.Status.Report; told == nil || !strings.Contains(told.Description, text) {
			return fmt.Errorf("%s: want %q as what was told last, got %+v", s.name, text, told)
		}
		return nil
	})
}

func (s *shop) pull() string { return fmt.Sprintf("pulls/%d", s.number) }

func (s *shop) merge(login, method string) string {
	s.Helper()
	var merged struct{ SHA string }
	s.call(login, "PUT", s.pull()+"/merge", map[string]string{"merge_method": method}, &merged)
	return merged.SHA
}

func (s *shop) post(login, sha, context, state string) {
	s.Helper()
	s.call(login, "POST", "statuses/"+sha, map[string]string{"context": context, "state": state}, nil)
}

// pulls returns all pull requests of the shop.
func (s *shop) pulls() []pull {
	s.Helper()
	var listed []pull
	s.call("ada", "GET", "pulls?state=all&per_page=100", nil, &listed)
	return listed
}

// told returns the statuses of the release, oldest first.
func (s *shop) told() []string {
	s.Helper()
	var listed []struct{ Context, State, Description string }
	s.call("ada", "GET", "commits/"+s.commit+"/statuses?per_page=100", nil, &listed)
	var lines []string
	for _, status := range slices.Backward(listed) {
		if status.Context == "sluice/"+s.namespace+"/"+s.name {
			lines = append(lines, status.State+": "+status.Description)
		}
	}
	return lines
}

// decision returns the gate's current decision.
func (s *shop) decision() v1alpha1.Decision {
	s.Helper()
	return s.readGate(s.gate).Status.Decision
}

// awaitEnd waits until the last report of the release is that state, and until nothing is left
// of the gate's approval but the pull request.
func (s *shop) awaitEnd(state string) {
	s.Helper()
	cptest.Eventually(s, soon, func() error {
		told, g := s.told(), s.readGate(s.gate)
		if len(told) == 0 || !strings.HasPrefix(told[len(told)-1], state+": ") {
			return fmt.Errorf("%s: want %s as the last that is told, got %q", s.name, state, told)
		}
		if len(g.Finalizers) > 0 {
			return fmt.Errorf("%s: want nothing left to clean up, got %q", s.name, g.Finalizers)
		}
		return nil
	})
}

// requests returns our requests for the repository, in the order of arrival.
func (s *shop) requests() []devforge.Request {
	sent := slices.DeleteFunc(s.forge.Requests(), func(r devforge.Request) bool {
		return r.User != "sluice" || r.Path != s.root() && !strings.HasPrefix(r.Path, s.root()+"/")
	})
	slices.SortFunc(sent, func(a, b devforge.Request) int { return a.Time.Compare(b.Time) })
	return sent
}

func (s *shop) root() string { return "/api/v3/repos/shop/" + s.name }

// everything is the pattern of all requests for a repository.
const everything = "(/|$)"

// inject has our requests for the repository of the shop go wrong.
func (s *shop) inject(fault devforge.Fault, method, pattern string) (off func() int) {
	fault.User, fault.Method, fault.Path = "sluice", method, regexp.MustCompile("^"+regexp.QuoteMeta(s.root())+pattern)
	return s.forge.Inject(fault)
}
