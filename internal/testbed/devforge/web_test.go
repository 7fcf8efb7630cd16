package devforge_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// browser keeps cookies, and the hidden fields of the page that it last saw.
type browser struct {
	world *world
	http  http.Client
	page  string
	code  int
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	must(w.t, err)
	return &browser{world: w, http: http.Client{Jar: jar}}
}

func (b *browser) see(resp *http.Response, err error) {
	b.world.t.Helper()
	must(b.world.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(b.world.t, err)
	b.page, b.code = string(body), resp.StatusCode
}

func (b *browser) open(path string) {
	b.world.t.Helper()
	b.see(b.http.Get(b.world.URL() + path))
}

var hidden = regexp.MustCompile(`type="hidden" name="([a-z]+)" value="([^"]*)"`)

// submit sends a form with what is hidden on the page.
func (b *browser) submit(path string, fields url.Values) {
	b.world.t.Helper()
	form := url.Values{}
	for _, found := range hidden.FindAllStringSubmatch(b.page, -1) {
		form.Set(found[1], found[2])
	}
	maps.Copy(form, fields)
	b.see(b.http.PostForm(b.world.URL()+path, form))
}

func (b *browser) signIn(user string) {
	b.world.t.Helper()
	b.open("/signin?next=/shop/web/pulls")
	b.submit("/signin", url.Values{"login": {user}, "token": {b.world.tokens[user]}})
}

func (b *browser) want(reason string, code int, texts ...string) {
	b.world.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.page, text) {
			b.world.t.Errorf("%s: %q is missing from\n%s", reason, text, b.page)
		}
	}
	if b.code != code {
		b.world.t.Errorf("%s: got status %d, want %d", reason, b.code, code)
	}
}

func (b *browser) wantNot(reason string, texts ...string) {
	b.world.t.Helper()
	for _, text := range texts {
		if strings.Contains(b.page, text) {
			b.world.t.Errorf("%s: %q is in\n%s", reason, text, b.page)
		}
	}
}

// What Sluice writes is shown as GitHub shows it: tables, code, lines, and links to commits.
func TestTextsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	sha := w.open(w.cloneAs(w.tokens["ada"]), "topic").GetHead().GetSHA()
	body := "### Pods\n\n| | |\n|---|---|\n| Commit | " + sha + " |\n| Subject | `a <b> " + sha + "` |\n\none\ntwo " + sha + "."
	_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{Body: new(body)})
	must(t, err)
	_, _, err = w.ada.Issues.CreateComment(w.ctx(), owner, web, 1, &github.IssueComment{Body: new("**well** <img src=x onerror=alert(1)>")})
	must(t, err)
	b := w.browser()
	b.signIn("bob")
	b.open("/shop/web/pull/1")
	link := `<a href="/shop/web/commit/` + sha + `">` + sha + `</a>`
	b.want("a pull request with a text", 200, "<h3>Pods</h3>", "<td>"+link+"</td>", "<code>a &lt;b&gt; "+sha+"</code>", "one<br>\ntwo "+link+".", "<strong>well</strong>")
	b.wantNot("what a comment has", "onerror")
	b.open("/shop/web/commit/" + sha)
	b.want("the page of the commit", 200, "<code>"+sha+"</code>")
}

func TestApprovingAndMergingInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	pull := w.open(w.cloneAs(w.tokens["ada"]), "topic")
	_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{Body: new("[run](javascript:alert(1)) <script>alert(1)</script>")})
	must(t, err)
	must(t, w.report(w.ada, pull.GetHead().GetSHA(), "ci/test", "success", "all good"))

	b := w.browser()
	b.open("/shop/web/pull/1")
	b.want("a visitor is asked to sign in", 200, "Sign in", "<option>ada</option>")
	b.signIn("bob")
	b.want("the list", 200, "#1 Add topic", "Signed in as <b>bob</b>")
	b.open("/shop/web/pull/1")
	b.want("a pull request", 200, "Add topic", "&#43;topic", "ci/test", "all good", "Merge pull request", "Approve")
	b.wantNot("a script", "<script", "javascript:")
	if strings.Index(b.page, ">Approve<") > strings.Index(b.page, ">Merge pull request<") {
		t.Error("want the button to approve before the one to merge: an approval that comes later is not one of those that the gate asks for")
	}
	b.submit("/shop/web/pull/1/approve", url.Values{"body": {"fine"}})
	b.want("after approving", 200, "APPROVED", "fine")
	b.submit("/shop/web/pull/1/merge", url.Values{"method": {"squash"}})
	b.want("after merging", 200, "merged as")
	if got := w.pull(1); !got.GetMerged() || got.GetMergedBy().GetLogin() != "bob" {
		t.Errorf("it is merged: got %v", got)
	}
	b.open("/shop/web/commit/" + pull.GetHead().GetSHA())
	b.want("a commit with its statuses", 200, "ci/test", `<span class="success">`)
	b.open("/shop/web/pull/9")
	b.want("what is not there", 404)
}

func TestClosingInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	w.open(clone, "topic")
	b := w.browser()
	b.signIn("ada")
	b.open("/shop/web/pull/1")
	if strings.Contains(b.page, ">Approve<") {
		t.Error("nobody approves their own")
	}
	b.submit("/shop/web/pull/1/close", nil)
	b.want("after closing", 200, "Reopen pull request")
	b.submit("/shop/web/pull/1/reopen", nil)
	b.want("after reopening", 200, "Close pull request")
	w.push(clone, "topic", "late.txt", "late\n")
	b.submit("/shop/web/pull/1/merge", url.Values{"method": {"merge"}})
	b.want("merging what one has not seen", 409, "has moved")
}

func TestFormsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	b := w.browser()
	b.open("/signin")
	b.submit("/signin", url.Values{"login": {"bob"}, "token": {w.tokens["ada"]}})
	b.want("another user's token", 403, "not that user")
	b.open("/signin?next=https://elsewhere.invalid/")
	b.submit("/signin", url.Values{"login": {"eve"}, "token": {w.tokens["eve"]}})
	b.want("a sign-in leads nowhere else", 200, "Signed in as <b>eve</b>")
	b.open("/shop/web/pull/1")
	b.want("what eve may not see", 404)
	b.signIn("bob")
	b.open("/shop/web/pull/1")
	b.submit("/shop/web/pull/1/merge", url.Values{"method": {"merge"}, "csrf": {"guess"}})
	b.want("a form from elsewhere", 403, "out of date")
	if w.pull(1).GetMerged() {
		t.Error("nothing is merged by a form from elsewhere")
	}
}
