package conformance

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

// A rule of the port holds for each client.
type rule struct {
	needs func(Abilities) bool
	hold  func(s *Scene)
}

// rules has the rules that no gate shows.
var rules = map[string]rule{
	"opens-once":        {hold: opensOnce},
	"opens-after-crash": {hold: opensAfterCrash},
	"finds-closed":      {hold: findsClosed},
	"already-there":     {hold: alreadyThere},
	"text-updated":      {hold: textUpdated},
	"closes-once":       {hold: closesOnce},
	"deletes-branch":    {hold: deletesBranch},
	"moves":             {hold: moves},
	"files":             {hold: files},
	"statuses":          {hold: statuses},
	"people":            {hold: people},
	"few-requests":      {hold: fewRequests},
	"a-quiet-hour":      {hold: quietHour},
	"faults-open":       {needs: func(a Abilities) bool { return a.Faults }, hold: faultsOpen},
	"faults-read":       {needs: func(a Abilities) bool { return a.Faults }, hold: faultsRead},
}

func opensOnce(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	first := s.number
	for _, client := range []forge.Client{s.client, s.Client(s)} {
		s.client = client
		if again := s.open(); again.Number != first || s.Pulls(record.Branch(s.gate)) != 1 {
			s.Errorf("want pull request #%d again, got #%d of %d", first, again.Number, s.Pulls(record.Branch(s.gate)))
		}
	}
}

// opensAfterCrash has the branch pushed, and no pull request opened.
func opensAfterCrash(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	s.gate.Spec.Nonce = "11111111111111111111111111"
	branch := record.Branch(s.gate)
	s.Branch("sluice", "sluice", branch, recordFile, string(record.Format(record.Of(s.gate))))
	if pull := s.open(); pull.Head.Ref != branch || pull.State != forge.PullOpen || pull.Base.Ref != "main" {
		s.Errorf("want the pull request of branch %s, got %+v", branch, pull)
	}
}

func findsClosed(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	s.Close("grace", s.number)
	if again := s.open(); again.Number != s.number || again.State != forge.PullClosed {
		s.Errorf("want the closed pull request #%d, got %+v", s.number, again)
	}
	s.Reopen("grace", s.number)
	s.Merge("grace", s.number, Merge)
	found, is, err := s.client.FindChange(s.Context(), s.request())
	if err != nil || !is || found.Number != s.number || !found.Merged {
		s.Errorf("want the merged pull request #%d, got %+v, %t, %v", s.number, found, is, err)
	}
}

func alreadyThere(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	request := s.request()
	s.Commit("ada", "ada", "main", recordFile, string(request.Content))
	request.Branch, request.Tip = forge.BranchPrefix+"there", s.Head("main")
	if _, err := s.client.OpenChange(s.Context(), request); err == nil || forge.KindOf(err) == forge.Transient {
		s.Errorf("want content refused that the branch has, got %v", err)
	}
}

func textUpdated(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	for range 2 {
		changed, err := s.client.UpdateApproval(s.Context(), s.number, "Another title", "Another *body*\n\nof lines.\n")
		if err != nil || changed.Title != "Another title" || !strings.Contains(changed.Body, "of lines.") {
			s.Errorf("want other texts, got %+v, %v", changed, err)
		}
	}
}

func closesOnce(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	for range 2 {
		if err := s.client.CloseApproval(s.Context(), s.number, record.Branch(s.gate), "It is over."); err != nil {
			s.Error(err)
		}
	}
	pull, err := s.client.PullRequest(s.Context(), s.number)
	said := slices.DeleteFunc(s.Comments(s.number), func(text string) bool { return text != "It is over." })
	if err != nil || pull.State != forge.PullClosed || len(said) != 1 {
		s.Errorf("want it closed with one comment, got %+v, %q, %v", pull, said, err)
	}
	for _, number := range []int{s.number, 404} {
		err := s.client.CloseApproval(s.Context(), number, "sluice/other", "Not this one.")
		if want := number == 404; (forge.KindOf(err) == forge.NotFound) != want {
			s.Errorf("#%d: got %v", number, err)
		}
	}
}

func deletesBranch(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	for range 2 {
		if err := s.client.DeleteBranch(s.Context(), record.Branch(s.gate)); err != nil {
			s.Error(err)
		}
	}
	if err := s.client.DeleteBranch(s.Context(), "main"); forge.KindOf(err) != forge.Invalid {
		s.Errorf("want no other branch removed, got %v", err)
	}
	if s.Git("ada", "ls-remote", "origin", "refs/heads/main") == "" || s.Git("ada", "ls-remote", "origin", "refs/heads/"+record.Branch(s.gate)) != "" {
		s.Error("want the branch gone, and main there")
	}
}

// moves has the tracked branch rewritten while the pull request is open.
func moves(s *Scene) {
	stable := s.Head("main")
	by("ada")(s)
	s.Wait(stable, anybody)
	request := s.request()
	if moved, err := s.client.MoveChange(s.Context(), request, request.Tip); moved != "" || err != nil {
		s.Errorf("want it where it is, got %q, %v", moved, err)
	}
	madeOn := request.Tip
	s.Git("ada", "fetch", "-q", "origin")
	s.Git("ada", "checkout", "-q", "-B", "rewritten", stable)
	s.commit("ada", "ada", "rewritten", "web.yaml", "image: web:3\n")
	s.Git("ada", "push", "-q", "-f", "origin", "HEAD:main")
	request.Tip = s.Head("main")
	s.settle("move the branch", func(ctx context.Context) error {
		moved, err := s.client.MoveChange(ctx, request, madeOn)
		if err == nil && moved != s.Head(record.Branch(s.gate)) {
			s.Errorf("want the branch moved, got %q", moved)
		}
		return err
	})
	if parent := s.Git("ada", "rev-parse", s.Head(record.Branch(s.gate))+"^"); parent != request.Tip {
		s.Errorf("want the branch on %s, got %s", request.Tip, parent)
	}
	pull, err := s.client.PullRequest(s.Context(), s.number)
	if err != nil || pull.State != forge.PullOpen {
		s.Errorf("want the pull request open, got %+v, %v", pull, err)
	}
}

func files(s *Scene) {
	first := s.Head("main")
	second := s.Commit("ada", "ada", "main", "web.yaml", "image: web:2\n")
	tip, err := s.client.Tip(s.Context(), "main")
	if err != nil || tip.Commit != second || tip.Tree != s.Git("ada", "rev-parse", second+"^{tree}") {
		s.Errorf("want the tip, got %+v, %v", tip, err)
	}
	content, err := s.client.ReadFile(s.Context(), "web.yaml", second)
	if err != nil || string(content) != "image: web:2\n" {
		s.Errorf("want the file, got %q, %v", content, err)
	}
	if _, err := s.client.ReadFile(s.Context(), "missing.yaml", second); forge.KindOf(err) != forge.NotFound {
		s.Errorf("want no file, got %v", err)
	}
	if _, err := s.client.ReadFile(s.Context(), "../web.yaml", second); forge.KindOf(err) != forge.Invalid {
		s.Errorf("want the path refused, got %v", err)
	}
	side := s.Branch("eve", "eve", "side", "README", "side\n")
	for sha, want := range map[string]bool{first: true, second: true, side: false} {
		if has, err := s.client.Has(s.Context(), "main", sha); has != want || err != nil {
			s.Errorf("want %t of %s, got %t, %v", want, sha, has, err)
		}
	}
}

func statuses(s *Scene) {
	sha := s.Commit("ada", "ada", "main", "web.yaml", "image: web:2\n")
	request := forge.StatusRequest{SHA: sha, Context: "sluice/shop/web", State: forge.StatePending, Description: "batch 1/2 <b>&", TargetURL: "https://sluice.test/web"}
	for _, state := range []forge.State{forge.StatePending, forge.StatePending, forge.StateSuccess, forge.StateSuccess, forge.StateFailure} {
		request.State = state
		if _, err := s.client.PostStatus(s.Context(), request); err != nil {
			s.Fatalf("post %s: %v", state, err)
		}
	}
	s.Status("ada", sha, "ci/build", forge.StateFailure)
	s.Status("eve", sha, "ci/build", forge.StateSuccess)
	self, err := s.client.Self(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	people, err := s.client.Accounts(s.Context(), "ada", "eve")
	if err != nil {
		s.Fatal(err)
	}
	for _, want := range []struct {
		context string
		by      forge.Account
		state   forge.State
	}{
		{"sluice/shop/web", self, forge.StateFailure}, {"SLUICE/shop/web", self, forge.StateFailure},
		{"ci/build", people[0], forge.StateFailure}, {"ci/build", people[1], forge.StateSuccess},
	} {
		found, err := s.client.CommitStatuses(s.Context(), sha, want.context, want.by)
		i := slices.IndexFunc(found, func(st forge.Status) bool { return st.Creator.Same(want.by) })
		if err != nil || i < 0 || found[i].State != want.state || found[i].SHA != sha {
			s.Errorf("want %s to be %s by %s, got %+v, %v", want.context, want.state, want.by.Login, found, err)
		}
	}
	if found, err := s.client.CommitStatuses(s.Context(), sha, "ci/other"); err != nil || len(found) > 0 {
		s.Errorf("want no status of another context, got %+v, %v", found, err)
	}
}

func people(s *Scene) {
	s.Join(Read, "reader")
	found, err := s.client.Accounts(s.Context(), "ada", "nobody-there", "../ada", "ada#1234")
	if err != nil || !found[0].Known() || found[0].Type != forge.TypeUser || found[1].Known() || found[2].Known() || found[3].ID != 1234 {
		s.Errorf("got %+v, %v", found, err)
	}
	who, err := s.client.Accounts(s.Context(), "ada", "reader")
	if err != nil {
		s.Fatal(err)
	}
	impostor := forge.Account{ID: who[0].ID + 1000, Login: "ada", Type: forge.TypeUser}
	may, err := s.client.Permissions(s.Context(), append(who, impostor)...)
	if err != nil {
		s.Fatal(err)
	}
	for _, one := range may {
		if want := one.Account.ID == who[0].ID; one.Write != want {
			s.Errorf("want write %t of %+v", want, one.Account)
		}
	}
	if !slices.ContainsFunc(may, func(p forge.Permission) bool { return p.Account.Same(who[0]) && p.Write }) {
		s.Error("want ada to write")
	}
}

// fewRequests holds a gate that is asked, approved and closed to six requests, beside the two that
// a client sends once.
func fewRequests(s *Scene) {
	stable := s.Head("main")
	by("ada")(s)
	before, _ := s.Requests()
	s.Wait(stable, reviewed)
	s.Review("grace", s.number, Approve)
	s.Merge("ada", s.number, Merge)
	if got := s.Judge(); got.Decision != passed {
		s.Errorf("want it passed, got %s", got.Message)
	}
	if err := s.client.DeleteBranch(s.Context(), record.Branch(s.gate)); err != nil {
		s.Error(err)
	}
	if after, _ := s.Requests(); after >= 0 && after-before > 8 {
		s.Errorf("want at most 6 requests and those for who we are and where, got %d", after-before)
	} else {
		s.Logf("%d requests", after-before)
	}
}

// faultsOpen has each request to open a pull request fail once.
func faultsOpen(s *Scene) {
	by("ada")(s)
	s.Wait("", anybody)
	for i, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, 0, http.StatusForbidden, http.StatusNotFound} {
		s.gate.Spec.Nonce = strings.Repeat(string(rune('a'+i)), 26)
		off := s.Fault("pulls|merge_requests", status)
		_, err := s.client.OpenChange(s.Context(), s.request())
		if hits := off(); hits == 0 || err == nil {
			s.Errorf("%d: want an error", status)
		}
		if pull := s.open(); pull.State != forge.PullOpen || s.Pulls(record.Branch(s.gate)) != 1 {
			s.Errorf("%d: want one pull request, got %+v of %d", status, pull, s.Pulls(record.Branch(s.gate)))
		}
	}
}

// quietHour asks about an approval that nobody answers as often as the default interval has it in
// an hour: 12 requests.
func quietHour(s *Scene) {
	stable := s.Head("main")
	s.Commit("ada", "ada", "main", "web.yaml", "image: web:2\n")
	s.Wait(stable, reviewed)
	if s.Judge().Decision != waiting {
		s.Error("want it to wait")
	}
	before, _ := s.Requests()
	for range 12 {
		s.Judge()
	}
	if after, _ := s.Requests(); after >= 0 && after-before > 12 {
		s.Errorf("want at most 12 requests, got %d", after-before)
	}
}

// faultsRead has requests fail by which an approval is judged: it never passes meanwhile.
func faultsRead(s *Scene) {
	stable := s.Head("main")
	by("ada")(s)
	s.Wait(stable, fourEyes)
	s.Review("grace", s.number, Approve)
	s.Merge("ada", s.number, Merge)
	for _, pattern := range []string{"reviews|approvals", "commits", "compare", "permission|members|assignees", "files|diffs", "activities|events"} {
		for _, status := range []int{http.StatusInternalServerError, http.StatusForbidden, http.StatusNotFound, 0} {
			s.client = s.Client(s)
			off := s.Fault(pattern, status)
			got, err := s.judge(s.Context())
			if hits := off(); hits > 0 && err == nil && got.Status.Decision == passed {
				s.Errorf("%s answers %d: want it not passed", pattern, status)
			}
		}
	}
	s.client = s.Client(s)
	if got := s.Judge(); got.Decision != passed {
		s.Errorf("want it passed in the end, got %s", got.Message)
	}
}
