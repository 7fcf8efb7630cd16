package browser_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// train creates a train and its members, which run NAME:1, as a source does for NAME:2.
func (s *stage) train(name string, members ...string) {
	s.Helper()
	train := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	none := v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}}
	train.Spec.Strategy.Steps = []v1alpha1.Step{step(1, manual()), step("100%")}
	for _, member := range members {
		s.deployed(member, member+":1", 2)
		release := released(member, template(member, member+":2", nil), step(1, none), step("100%", none))
		release.Spec.Train, release.Labels = name, map[string]string{v1alpha1.TrainLabel: name}
		digest, err := podtemplate.Given(release.Spec.Template.Raw)
		if err != nil {
			s.Fatal(err)
		}
		s.create(release)
		train.Spec.Members = append(train.Spec.Members, v1alpha1.TrainMember{Name: member})
		train.Spec.MemberTemplates = append(train.Spec.MemberTemplates, v1alpha1.MemberTemplate{Name: member, Group: member, Template: digest})
	}
	s.create(train)
}

// TestTrain: the list has members below their train, the page of a train has its members with their
// progress and the buttons of its gates, and that of a member leads to the train.
func TestTrain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startController()
	s.train("shop", "db", "web")
	s.blocksAt("shop", 0)
	s.await("web", "to wait for its train", func(r *v1alpha1.BatchRelease) bool { return r.Status.State == v1alpha1.StateWaitingForTrain })
	tab := s.dashboard(cptest.Config(t), s.namespace).visit(t, s.list())
	rows := browser.Ask[[]string](tab, `[...document.querySelectorAll("tbody tr th a")].map(a => a.textContent.split("/")[1])`)
	if !slices.Equal(rows, []string{"shop", "db", "web"}) {
		t.Errorf("want the members below their train, got %q", rows)
	}
	look := func(path string, wants ...string) {
		t.Helper()
		tab.Open(browser.Ask[string](tab, "location.origin") + path)
		settled(tab)
		text := tab.Text()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q, got:\n%s", path, want, text)
			}
		}
		withoutBarriers(t, tab, browser.Looks[0], browser.Looks[3])
	}
	look(s.page("db"), "gives it its steps", "deployment/db")
	look(s.page("shop"), "2 members", "Members of the last run", "1 of 2 steps done", "Approve", "Roll back")
	if actions := actionsOf(tab, browser.Ask[string](tab, "location.href")); slices.ContainsFunc(actions, func(a string) bool { return strings.HasSuffix(a, "/jump") }) {
		t.Errorf("want no button to jump, got %q", actions)
	}
	look(s.page("shop")+"/rollback", "2 members of the last run go back", "Git is not changed")
	look(s.page("db")+"/rollback", "The members of train shop that are released together with this one return too.")
	look(s.page("shop")+"/approve", "manual gate")
	tab.Click("Approve")
	s.await("shop", "to complete", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
}
