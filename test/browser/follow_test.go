package browser_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// noteTexts has a page note when a text is there for the first time.
const noteTexts = `(() => {
	window.noted = {};
	const note = () => { for (const t of document.querySelectorAll(%q)) { noted[t.textContent.replace(/\s+/g, " ").trim()] ??= Date.now(); } };
	note();
	new MutationObserver(note).observe(document.documentElement, {subtree: true, childList: true, characterData: true, attributes: true});
})()`

// TestPagesFollowARelease: a page shows what happens to a release while it happens, and the browser
// has nothing to complain of.
func TestPagesFollowARelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startController()
	const batches = 6
	s.deployed("web", "web:1", batches)
	dash := s.dashboard(cptest.Config(t), s.namespace)
	list := dash.visit(t, s.list())
	list.Await(`document.body.innerText.includes("There are no releases that you may see")`, soon)

	var steps []v1alpha1.Step
	for i := range batches - 1 {
		steps = append(steps, step(i+1, manual()))
	}
	seen := s.watchBlocks("web")
	s.create(released("web", template("web", "web:2", nil), append(steps, step("100%"))...))
	list.Await(`document.querySelector("tbody tr th a")?.textContent.endsWith("/web")`, soon)
	s.blocksAt("web", 0)
	page := dash.visit(t, s.page("web"))
	page.Await(`document.querySelector("[data-live-state]").textContent === "on"`, soon)
	note(page, ".batches li[aria-current] strong")
	note(list, `td[data-label="Progress"] .sub`)

	var delays []time.Duration
	for i := range int32(batches - 1) {
		release := s.blocksAt("web", i)
		at := <-seen
		if i > 0 {
			delays = append(delays,
				noted(page, `t === "Batch `+fmt.Sprint(i+1)+`"`).Sub(at.began),
				noted(list, fmt.Sprintf(`t.startsWith("batch %d/%d, %d of %d available")`, i+1, batches, i+1, batches)).Sub(at.blocked))
		}
		s.approve(release, "grace", "looks fine")
	}
	s.await("web", "to complete", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
	page.Await(`document.querySelector(".badge").textContent.includes("Completed")`, soon)
	list.Await(`document.querySelector("tbody tr").textContent.includes("Completed")`, soon)
	slices.Sort(delays)
	t.Logf("from a change on the API server to the page: median %v, worst %v of %d", delays[len(delays)/2], delays[len(delays)-1], len(delays))
	if worst := delays[len(delays)-1]; worst > soon/2 { // on a busy machine
		t.Errorf("a page follows within moments: %v", delays)
	}
	for name, tab := range map[string]*browser.Tab{"list": list, "release": page} {
		if faults := tab.Faults(); len(faults) > 0 {
			t.Errorf("%s: the browser complains: %q", name, faults)
		}
		if hosts := tab.Hosts(); len(hosts) != 1 {
			t.Errorf("%s: nothing is loaded from elsewhere: %q", name, hosts)
		}
	}
}

func note(tab *browser.Tab, selector string) {
	browser.Ask[*string](tab, fmt.Sprintf(noteTexts, selector))
}

// noted returns when a text was on the page that a condition on t holds for.
func noted(tab *browser.Tab, condition string) time.Time {
	find := `Object.entries(noted).filter(([t]) => ` + condition + `)`
	tab.Await(find+`.length > 0`, soon)
	return time.UnixMilli(browser.Ask[int64](tab, find+`[0][1]`))
}

// moments are when a watch saw that a step began, and that it blocks.
type moments struct{ began, blocked time.Time }

// watchBlocks tells when a watch of a release has seen each of its steps.
func (s *stage) watchBlocks(name string) <-chan moments {
	s.Helper()
	events, err := s.Watch(s.Context(), &v1alpha1.BatchReleaseList{}, client.InNamespace(s.namespace))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(events.Stop)
	told := make(chan moments, 100)
	go func() {
		var at moments
		step, blocks := int32(0), false
		for event := range events.ResultChan() {
			release, is := event.Object.(*v1alpha1.BatchRelease)
			if !is || release.Name != name {
				continue
			}
			now := time.Now()
			if release.Status.CurrentStepIndex != step {
				step, blocks, at = release.Status.CurrentStepIndex, false, moments{began: now}
			}
			if !blocks && release.Status.State == v1alpha1.StateBlocked {
				blocks, at.blocked = true, now
				told <- at
			}
		}
	}()
	return told
}
