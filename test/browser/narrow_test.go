package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// secret is what somebody must not read who has no rights where it is.
const secret = "the-secret-of-others"

// viewer makes a service account that may read the releases of the namespace and no other, and
// returns a token of it.
func (s *stage) viewer(name string) string {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.create(account,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"batchreleases", "gates", "releasesources"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"get", "list", "watch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: s.namespace}},
		})
	cptest.AwaitRights(s, cptest.Config(s.T), "system:serviceaccount:"+s.namespace+":"+name)
	request := &authenticationv1.TokenRequest{}
	if err := s.SubResource("token").Create(s.Context(), account, request); err != nil {
		s.Fatal(err)
	}
	return request.Status.Token
}

// fill puts a release, a source and a history into the namespace, all of which say the same.
func (s *stage) fill(name, word string) {
	s.Helper()
	release := released(name, template(name, "web:1", nil), step("100%"))
	s.create(release)
	s.patchStatus(&v1alpha1.BatchRelease{}, name, fmt.Sprintf(
		`{"status":{"currentStepIndex":0,"updatedReplicas":0,"updatedAvailableReplicas":0,"commit":"0123456789abcdef","commitSubject":%q,"phase":"Failed"}}`, word))
	s.keep(release, "revision-1", string(v1alpha1.OutcomeReleased), word, template(name, word, nil))
	s.create(&v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ReleaseSourceSpec{URL: "https://example.com/" + word}})
}

// TestNarrowRights: a person who may read the releases of one namespace, and has logged in with a
// token, sees these alone: in lists, searches, counts, filters, histories, sources and the stream
// of changes. Pages of others show no more than the API server does.
func TestNarrowRights(t *testing.T) {
	t.Parallel()
	own, other := newStage(t), newStage(t)
	token := own.viewer("reader")
	own.fill("mine", "my-own")
	other.fill("theirs", secret)
	cfg := cptest.Config(t)
	door, err := access.NewCluster(cfg, kube.NewScheme(), access.Options{Tokens: true, PlainHTTP: true, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + own.serve(door, own.namespace, other.namespace)
	tab := chromium(t).Person(t)
	tab.Open(at + "/history")
	tab.Await(`document.title.startsWith("Log in")`, soon)
	withoutBarriers(t, tab)
	tab.Type("token", token)
	tab.Click("Log in")
	tab.Await(`location.pathname === "/history" && document.readyState === "complete"`, soon)

	for path, want := range map[string]string{
		"/": "1 of 1 release", "/?search=" + secret: "Show all 1", "/?namespace=" + other.namespace: "Show all 1", "/?phase=Failed": "1 of 1 release",
		"/history": "my-own", "/history?namespace=" + other.namespace: "No release completed", "/sources": "my-own",
		"/sources?namespace=" + other.namespace: "my-own", own.page("mine"): "What this page does not show",
	} {
		tab.Open(at + path)
		settled(tab)
		seesNothing(t, tab, path, other)
		if !strings.Contains(tab.Text(), want) {
			t.Errorf("%s: %q is missing from\n%s", path, want, tab.Text())
		}
		if faults := tab.Faults(); len(faults) > 0 {
			t.Errorf("%s: the browser complains: %q", path, faults)
		}
	}
	answers := map[string]string{}
	for _, name := range []string{"theirs", "nobodys"} {
		for _, below := range []string{"", "/diff?from=a&to=revision-1"} {
			tab.Open(at + other.page(name) + below)
			settled(tab)
			answers[name+below] = strings.ReplaceAll(browser.Ask[string](tab, `document.querySelector("main").innerText`), name, "X")
			if !strings.Contains(answers[name+below], "Not allowed") {
				t.Errorf("the page of another's release is not shown: %s", answers[name+below])
			}
		}
	}
	if answers["theirs"] != answers["nobodys"] {
		t.Errorf("what is hidden looks like what is not there: %q", answers)
	}
	hearsNothing(t, tab, at, own, other)
}

// seesNothing wants that a page tells nothing of another namespace but what the address said
// already.
func seesNothing(t *testing.T, tab *browser.Tab, path string, other *stage) {
	t.Helper()
	source := browser.Ask[string](tab, `document.documentElement.outerHTML`)
	for _, hidden := range []string{"theirs", secret, other.namespace} {
		if !strings.Contains(path, hidden) && strings.Contains(source, hidden) {
			t.Errorf("%s: %s must not be seen", path, hidden)
		}
	}
}

// hearsNothing wants that streams tell of changes in one's own namespace alone, and that there is
// none for a release of others.
func hearsNothing(t *testing.T, tab *browser.Tab, at string, own, other *stage) {
	t.Helper()
	const follow = `(() => { window.heard = 0; window.followed = new EventSource("/live?page=releases"); followed.addEventListener("changed", () => { heard++; }); })()`
	tab.Open(at + "/history") // a page that follows nothing itself
	browser.Ask[*string](tab, follow)
	tab.Await(`followed.readyState === 1`, soon)
	other.patch(&v1alpha1.BatchRelease{}, "theirs", `{"metadata":{"annotations":{"touched":"1"}}}`)
	own.patch(&v1alpha1.BatchRelease{}, "mine", `{"metadata":{"annotations":{"touched":"1"}}}`)
	tab.Await(`heard === 1`, soon) // of the two changes, in this order
	status := browser.Ask[int](tab, fmt.Sprintf(`fetch("/live?page=release&namespace=%s&name=theirs").then((r) => r.status)`, other.namespace))
	if status != 403 {
		t.Errorf("a stream of another's release: status %d, want 403", status)
	}
	tab.Faults()
}
