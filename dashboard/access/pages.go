package access

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

//go:embed pages.html
var pagesSource string

var pages = template.Must(template.New("pages").Parse(pagesSource))

// message is an answer in words, with advice.
type message struct {
	Status      int
	Title, Text string
}

// loginPage is the content of the login form.
type loginPage struct {
	// Problem is the error of the previous try.
	Problem string
	Next    string
	Tokens  bool
	// Service is the address of the OIDC login, empty if there is none.
	Service string
}

// Start returns the address of the link to the OIDC login.
func (p loginPage) Start() string { return startPath + "?next=" + url.QueryEscape(p.Next) }

// tell responds with a message: a page for a browser, a line for anything else.
func tell(w http.ResponseWriter, r *http.Request, m message) {
	if !wantsPage(r) {
		http.Error(w, m.Title+": "+m.Text, m.Status)
		return
	}
	render(w, m.Status, "message", m)
}

// wantsPage reports whether a request comes from a browser.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
		http.Error(w, "the page can't be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have gone
}

// maxNext is how long an address may be that is returned to after the login.
const maxNext = 1024

// ownPath returns a path of the dashboard to go to, or its first page for anything that browsers
// could take for another site.
func ownPath(next string) string {
	const home = "/"
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }) {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.HasPrefix(u.Path, "//") ||
		strings.HasPrefix(u.Path, loginPath) || strings.HasPrefix(u.Path, logoutPath) {
		return home
	}
	return u.RequestURI()
}
