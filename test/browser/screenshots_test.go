package browser_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// screenshots is where make screenshots wants the pictures of the docs.
var screenshots = flag.String("screenshots", "", "folder to write the pictures of the dashboard to; the test then needs a control plane of its own")

// mostBytes is how large a picture in the docs may be.
const mostBytes = 200 << 10

// TestScreenshots: the pictures in the docs are of real releases: a list while a shop releases, a
// release that waits at a gate, and the same in the dark and on a phone.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("make screenshots runs it: TestEachStateKeepsNobodyOut looks at the same pages")
	}
	t.Parallel()
	s := newStage(t)
	s.namespace = s.named("shop")
	s.startController()
	s.shop()
	cfg := cptest.Config(t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "ada@example.com", Groups: []string{"system:masters"}}
	dash := s.dashboard(cfg, s.namespace)
	tab := chromium(t).Person(t)
	dash.enter(t, tab, "/")
	for _, picture := range []struct {
		name, path string
		look       browser.Look
	}{
		{"dashboard-releases", "/", browser.Look{Width: 1200, Height: 700}},
		{"dashboard-release", s.page("web"), browser.Look{Width: 1200, Height: 1010}},
		{"dashboard-rollback", s.page("web") + "/rollback", browser.Look{Width: 1200, Height: 1010}},
		{"dashboard-failed", s.page("payments"), browser.Look{Width: 1200, Height: 860}},
		{"dashboard-dark", s.page("web"), browser.Look{Width: 1200, Height: 1010, Dark: true}},
		{"dashboard-phone", "/", browser.Look{Width: 390, Height: 844, Phone: true}},
		{"dashboard-history", "/history", browser.Look{Width: 1200, Height: 720}},
	} {
		tab.Through(picture.look)
		tab.Open(dash.at(tab, picture.path))
		tab.Await(`document.readyState === "complete" && document.querySelector("[data-live-state]")?.textContent !== "reload to see changes" && document.querySelector("main") !== null`, soon)
		data := tab.Picture()
		shown, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || int64(shown.Width) != picture.look.Width || len(data) > mostBytes {
			t.Errorf("%s: got %d bytes, %d wide, %v; want a picture of %d with at most %d bytes", picture.name, len(data), shown.Width, err, picture.look.Width, mostBytes)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, picture.name+".png"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// named makes a namespace of a name that is read in pictures.
func (s *stage) named(name string) string {
	s.Helper()
	if err := s.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		s.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cptest.Config(s.T))
	if err != nil {
		s.Fatal(err)
	}
	cptest.Eventually(s, soon, func() error { return controlplane.ServiceAccountExists(s.Context(), clients, name) })
	return name
}

// shop has five Deployments released by as many people, each of which stands elsewhere.
func (s *stage) shop() {
	s.Helper()
	type commit struct{ hash, author, subject string }
	release := func(name string, by commit, behaviour string, steps ...v1alpha1.Step) {
		var annotations map[string]string
		if behaviour != "" {
			annotations = map[string]string{controlplane.BehaviourAnnotation: behaviour}
		}
		one := released(name, template(name, "registry.example.com/"+name+":1.9.0", annotations), steps...)
		one.Annotations = map[string]string{v1alpha1.CommitAnnotation: by.hash, v1alpha1.AuthorAnnotation: by.author, v1alpha1.SubjectAnnotation: by.subject}
		s.create(one)
	}
	for _, name := range []string{"web", "payments", "search", "mail"} {
		s.deployed(name, "registry.example.com/"+name+":1.8.2", 12)
	}
	done := func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted }
	release("search", commit{"5f0c2d1a9b", "Margaret Hamilton", "Rank titles above texts"}, "", step("50%"), step("100%"))
	release("payments", commit{"b71e90c4d2", "Alan Turing", "Retry declined cards"}, controlplane.CrashLoop, step(2), step("100%"))
	release("mail", commit{"c4aa12ef08", "Katherine Johnson", "Send receipts at once"}, "", step(3, manual()), step("100%"))
	release("web", commit{"9d3b7a4e61", "Grace Hopper", "Show prices with tax"}, "", step("10%", manual()), step("50%", manual(), soak()), step("100%"))
	s.approve(s.blocksAt("web", 0), "ada", "the error rate is fine")
	s.approve(s.blocksAt("search", 0), "ada", "")
	s.await("search", "to complete", done)
	s.await("payments", "to try", func(r *v1alpha1.BatchRelease) bool { return r.Status.UpdatedReplicas > 0 })
	s.patch(&v1alpha1.BatchRelease{}, "payments", `{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
	s.await("payments", "to fail", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseFailed })
	s.blocksAt("mail", 0)
	s.blocksAt("web", 1)
}

func soak() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: 10 * time.Minute}}}
}
