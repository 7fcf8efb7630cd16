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
