package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// TestEachStateKeepsNobodyOut: a page of each state of a real release keeps nobody out: light or
// dark, on a phone or not. axe-core looks at what is there: colours, names, landmarks and order.
func TestEachStateKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dash := s.dashboard(cptest.Config(t), s.namespace)
	page := chromium(t).Person(t)
	look := func(name, path string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			tab := page.In(t)
			tab.Open(dash.at(tab, path))
			settled(tab)
			withoutBarriers(t, tab, browser.Looks[0], browser.Looks[3])
			faults := slices.DeleteFunc(tab.Faults(), func(f string) bool { return name == "not found" && strings.Contains(f, "404") })
			if len(faults) > 0 {
				t.Errorf("the browser complains: %q", faults)
			}
		})
	}
	dash.enter(t, page, "/")
	look("no release", "/")
	look("no source", "/sources")
	look("no history", "/history")

	s.startController()
	s.deployed("web", "web:1", 6)
	s.create(released("web", template("web", "web:2", nil), step(2, manual()), step("100%")))
	s.blocksAt("web", 0)
	look("waiting", s.page("web"))
	for _, address := range actionsOf(page, dash.at(page, s.page("web"))) {
		look("asks "+address[strings.LastIndex(address, "/")+1:], strings.TrimPrefix(address, dash.at(page, "")))
	}
	look("list", "/")
	s.patch(&v1alpha1.BatchRelease{}, "web", string(encode(map[string]any{"spec": map[string]any{"template": template("web", "web:3", map[string]string{
		controlplane.BehaviourAnnotation: controlplane.CrashLoop,
	})}})))
	s.await("web", "to be in its first batch again", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.State == v1alpha1.StateRolling && r.Status.UpdatedReplicas > 0
	})
	look("in progress with pods that crash", s.page("web"))
	s.patch(&v1alpha1.BatchRelease{}, "web", `{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
	s.await("web", "to fail", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseFailed })
	look("failed", s.page("web"))
	for _, address := range actionsOf(page, dash.at(page, s.page("web"))) {
		look("failed, asks "+address[strings.LastIndex(address, "/")+1:], strings.TrimPrefix(address, dash.at(page, "")))
	}
	look("list with a failure", "/")
	s.patch(&v1alpha1.BatchRelease{}, "web", `{"metadata":{"annotations":{"rollback":"true"}},"spec":{"strategy":{"progressDeadlineSeconds":600}}}`)
	s.await("web", "to be rolled back", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
	look("rolled back", s.page("web"))
	look("history", "/history")
	look("not found", "/releases/"+s.namespace+"/other")
}

// TestBarriersAreFound: axe-core finds what it is to find: otherwise it would prove nothing of
// other pages.
func TestBarriersAreFound(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Bad</title><body style="width: 2000px"><p style="color: #bbb; background: #fff">faint</p><input><img src="data:,"><script>console.warn("careful")</script>`)
	}))
	t.Cleanup(bad.Close)
	tab := chromium(t).Person(t)
	tab.Open(bad.URL)
	found := strings.Join(tab.Barriers(), "\n")
	for _, rule := range []string{"color-contrast", "html-has-lang", "label", "image-alt", "landmark-one-main"} {
		if !strings.Contains(found, rule) {
			t.Errorf("%s is not found in a page that breaks it:\n%s", rule, found)
		}
	}
	if faults := tab.Faults(); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, "careful") }) {
		t.Errorf("a warning on the console is a fault: %q", faults)
	}
}

// TestByKeyboard: with a keyboard alone, a person reaches everything in reading order, and sees
// the focus.
func TestByKeyboard(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create(released("one", template("one", "one:1", nil), step("100%")), released("two", template("two", "two:1", nil), step("100%")))
	tab := s.dashboard(cptest.Config(t), s.namespace).visit(t, "/")
	tab.Await(`document.querySelectorAll("tbody tr").length === 2`, soon)
	const focused = `(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
		return JSON.stringify([(e.id || e.textContent || e.name).trim().replace(/\s+/g, " "), e === document.body ||
			parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== "none" && r.width > 0 && r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight]); })()`
	var order []string
	for range 14 {
		tab.Press(kb.Tab)
		at := browser.Ask[string](tab, focused)
		if strings.HasSuffix(at, "false]") {
			t.Errorf("where the focus is can't be seen: %s", at)
		}
		order = append(order, strings.TrimSuffix(strings.TrimPrefix(at, "["), ",true]"))
	}
	at := 0
	for _, want := range []string{"Skip to the content", "Sluice", "Releases", "Sources", "History", "search", "namespace", "phase", "mine", "Show", s.namespace + "/one", s.namespace + "/two"} {
		found := slices.Index(order[at:], `"`+want+`"`)
		if found < 0 {
			t.Fatalf("Tab reaches %s after what stands before it; got %q", want, order)
		}
		at += found + 1
	}
	tab.Open(tab.Address())
	tab.Press(kb.Tab)
	tab.Press(kb.Enter)
	tab.Await(`document.activeElement.id === "main"`, soon)
	tab.Press(kb.Tab)
	tab.Await(`document.activeElement.id === "search"`, soon)
	tab.Press("two" + kb.Enter)
	tab.Await(`location.search.includes("search=two") && document.querySelectorAll("tbody tr").length === 1`, soon)
	if faults := tab.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

// TestWithoutScripts: without scripts a page is whole, says so, and reads itself again.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create(released("web", template("web", "web:1", nil), step("100%")))
	subject := func(text string) {
		s.patchStatus(&v1alpha1.BatchRelease{}, "web", `{"status":{"currentStepIndex":0,"updatedReplicas":0,"updatedAvailableReplicas":0,"commit":"89abcdef0123456789abcdef0123456789abcdef","commitSubject":"`+text+`"}}`)
	}
	subject("Serve faster")
	dash := s.dashboard(cptest.Config(t), s.namespace)
	tab := chromium(t).Person(t)
	dash.enter(t, tab, "/")
	tab.WithoutScripts()
	for path, texts := range map[string][]string{
		"/":             {"web", "Serve faster", "reload to see changes"},
		s.page("web"):   {"web", "Serve faster", "Batches", "Timeline", "reload to see changes"},
		"/sources":      {"There are no ReleaseSources that you may see."},
		"/history":      {"No release completed in this period."},
		"/nowhere/else": {"Not found"},
	} {
		tab.Open(dash.at(tab, path))
		page := tab.Text()
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s: %q is missing from\n%s", path, text, page)
			}
		}
	}
	tab.Open(dash.at(tab, "/"))
	subject("Serve slower")
	tab.Await(`document.body.innerText.includes("Serve slower")`, soon)
}
