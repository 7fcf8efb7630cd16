package devforge

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

//go:embed pages
var pageFiles embed.FS

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"short": plain.Commit,
	"lower": strings.ToLower,
}).ParseFS(pageFiles, "pages/*.html"))

// pages serves what a browser sees.
func (f *Forge) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, pageFiles, "pages/style.css")
	})
	mux.HandleFunc("GET /signin", f.visited((*visit).showSignIn))
	mux.HandleFunc("POST /signin", f.visited((*visit).signIn))
	mux.HandleFunc("POST /signout", f.visited((*visit).signOut))
	mux.HandleFunc("GET /{owner}/{repo}/pulls", f.visited((*visit).showPulls))
	mux.HandleFunc("GET /{owner}/{repo}/commit/{sha}", f.visited((*visit).showCommit))
	mux.HandleFunc("GET /{owner}/{repo}/pull/{pull_number}", f.visited((*visit).showPull))
	mux.HandleFunc("GET /{owner}/{repo}/raw/{ref}/{path...}", f.visited((*visit).showRaw))
	mux.HandleFunc("POST /{owner}/{repo}/pull/{pull_number}/{action}", f.visited((*visit).actOnPull))
}

// page holds the data that every page shows.
type page struct {
	Title, Login, CSRF, Path string
	// Open is set where nobody has to sign in.
	Open bool
	Body any
}

func (v *visit) show(status int, name, title string, body any) error {
	shown := page{Title: title, CSRF: v.session.csrf, Path: v.r.URL.Path, Open: v.forge.who.open(), Body: body}
	if v.session.token != "" && !v.by.anonymous {
		shown.Login = v.by.account.login
	}
	var html bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&html, name, shown); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, err := html.WriteTo(v.w)
	return err
}

// fail shows what went wrong. Who may not see something and has not signed in is asked to.
func (v *visit) fail(err error) {
	var known *problem
	switch {
	case errors.As(err, &known):
	case errors.Is(err, gitcmd.ErrNotFound):
		known = errNotFound
	default:
		v.forge.log.ErrorContext(v.r.Context(), "cannot show page", "path", v.r.URL.Path, "error", err)
		known = refuse(http.StatusInternalServerError, "Something went wrong.")
	}
	if known.status == http.StatusNotFound && v.by.anonymous && v.r.Method == http.MethodGet {
		http.Redirect(v.w, v.r, "/signin?next="+template.URLQueryEscaper(v.r.URL.Path), http.StatusSeeOther)
		return
	}
	if err := v.show(known.status, "problem.html", "Not done", known.message); err != nil {
		v.forge.log.ErrorContext(v.r.Context(), "cannot show problem", "error", err)
	}
}

// inRepository serves a page with the repository held, for those who have the role.
func (v *visit) inRepository(role Role, serve func(*call) error) error {
	c := &call{forge: v.forge, ctx: context.WithoutCancel(v.r.Context()), req: v.r, by: v.by, header: v.w.Header()}
	repo, err := c.findRepository(need{role: role})
	if err != nil {
		return err
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	c.repo = repo
	if err := v.forge.catchUp(c.ctx, repo); err != nil {
		return err
	}
	return serve(c)
}

func (v *visit) showSignIn() error {
	return v.show(http.StatusOK, "signin.html", "Sign in", struct {
		Names []string
		Next  string
	}{v.forge.who.signInNames(), v.r.URL.Query().Get("next")})
}

// pullLine is a pull request in a list.
type pullLine struct {
	Number                     int
	Title, State, Author, Head string
	Base, Merged, Path, HeadAt string
}

func lineOf(repo *repository, p *pull) pullLine {
	state := p.state()
	if p.merged() {
		state = "merged"
	}
	return pullLine{
		Number: p.number, Title: p.title, State: state, Author: p.author.login, Head: p.head, Base: p.base, HeadAt: p.headSHA,
		Merged: p.mergeCommit, Path: "/" + repo.fullName() + "/pull/" + strconv.Itoa(p.number),
	}
}

func (v *visit) showPulls() error {
	return v.inRepository(RoleRead, func(c *call) error {
		var lines []pullLine
		for _, p := range slices.Backward(c.repo.pulls) {
			lines = append(lines, lineOf(c.repo, p))
		}
		return v.show(http.StatusOK, "pulls.html", "Pull requests of "+c.repo.fullName(), lines)
	})
}

// reportLine is a status or a check of a commit, as GitHub lists them.
type reportLine struct{ State, Name, Text, Link, By, At string }

func (c *call) reports(sha string) []reportLine {
	var lines []reportLine
	for _, s := range slices.Backward(c.repo.statuses[sha]) {
		lines = append(lines, reportLine{s.state, s.context, s.description, s.target, s.creator.login, stamp(s.created)})
	}
	for _, run := range slices.Backward(c.repo.runs) {
		if run.suite.sha == sha {
			state := run.status
			if run.conclusion != "" {
				state = run.conclusion
			}
			lines = append(lines, reportLine{state, run.name, run.title, run.details, run.suite.app.slug, stamp(run.started)})
		}
	}
	return lines
}

func (v *visit) showCommit() error {
	return v.inRepository(RoleRead, func(c *call) error {
		sha, err := c.repo.git.Resolve(c.ctx, v.r.PathValue("sha"))
		if err != nil {
			return err
		}
		commit, changes, err := c.repo.change(c.ctx, sha)
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, "commit.html", "Commit of "+c.repo.fullName(), struct {
			Commit   gitcmd.Commit
			Changes  []gitcmd.Change
			Combined string
			Reports  []reportLine
		}{commit, changes, combined(latestStatuses(c.repo.statuses[sha])), c.reports(sha)})
	})
}

// showRaw serves the API's download URLs, and therefore accepts tokens of the API.
func (v *visit) showRaw() error {
	if _, given := bearer(v.r); given {
		by, known := v.forge.authenticate(v.r)
		if !known {
			return refuse(http.StatusUnauthorized, "Bad credentials")
		}
		v.by = by
	}
	return v.inRepository(RoleRead, func(c *call) error {
		sha, err := c.repo.git.Resolve(c.ctx, v.r.PathValue("ref"))
		if err != nil {
			return err
		}
		entry, err := c.repo.git.Entry(sha, v.r.PathValue("path"))
		if err != nil {
			return err
		}
		data, err := c.repo.git.ReadBlob(entry.SHA)
		if err != nil {
			return err
		}
		v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		v.w.Header().Set("X-Content-Type-Options", "nosniff")
		_, err = v.w.Write(data)
		return err
	})
}

// reviewLine is a review or a comment.
type reviewLine struct {
	By, State, Commit, At string
	Body                  template.HTML
}

// pullPage is a pull request with all that is known of it.
type pullPage struct {
	pullLine

	Text      template.HTML
	Commits   []gitcmd.Commit
	Changes   []gitcmd.Change
	Reviews   []reviewLine
	Reports   []reportLine
	Mergeable bool
	// CanMerge, CanApprove and CanClose say which buttons there are.
	CanMerge, CanApprove, CanClose, CanReopen bool
	CommitPath                                string
}

func (v *visit) showPull() error {
	return v.inRepository(RoleRead, func(c *call) error {
		p, err := c.thePull()
		if err != nil {
			return err
		}
		shown, err := c.pullPage(p)
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, "pull.html", p.title, shown)
	})
}

func (c *call) pullPage(p *pull) (pullPage, error) {
	if err := c.forge.tryMerge(c.ctx, c.repo, p); err != nil {
		return pullPage{}, err
	}
	changes, err := c.forge.pullChanges(c.ctx, c.repo, p)
	if err != nil {
		return pullPage{}, err
	}
	commits, err := c.repo.git.Log(c.ctx, "--reverse", p.commitRange())
	if err != nil {
		return pullPage{}, err
	}
	text, err := c.markdown(p.body)
	if err != nil {
		return pullPage{}, err
	}
	writer, own := c.forge.roleIn(c.by, c.repo) >= RoleWrite, c.by.account == p.author
	shown := pullPage{
		pullLine: lineOf(c.repo, p), Text: text, Commits: commits, Changes: changes, Reports: c.reports(p.headSHA),
		Mergeable: p.trial.commit != "", CanMerge: writer && !p.closed(), CanApprove: !c.by.anonymous && !own && (!p.closed() || p.merged()),
		CanClose: (writer || own) && !p.closed(), CanReopen: (writer || own) && p.closed() && !p.merged(),
		CommitPath: c.commitPath(),
	}
	shown.Reviews, err = c.reviewLines(p)
	return shown, err
}

// reviewLines returns the reviews, and then the comments.
func (c *call) reviewLines(p *pull) ([]reviewLine, error) {
	var lines []reviewLine
	for _, v := range p.reviews {
		body, err := c.markdown(v.body)
		if err != nil {
			return nil, err
		}
		lines = append(lines, reviewLine{By: v.author.login, State: v.state, Commit: v.commit, At: stamp(v.submitted), Body: body})
	}
	for _, m := range p.comments {
		body, err := c.markdown(m.body)
		if err != nil {
			return nil, err
		}
		lines = append(lines, reviewLine{By: m.author.login, At: stamp(m.created), Body: body})
	}
	return lines, nil
}

// actOnPull handles the buttons of a pull request, which act as the API does.
func (v *visit) actOnPull() error {
	role, action := RoleRead, v.r.PathValue("action")
	if action == "merge" {
		role = RoleWrite
	}
	err := v.inRepository(role, func(c *call) error {
		p, err := c.thePull()
		if err != nil {
			return err
		}
		if c.by.anonymous {
			return refuse(http.StatusForbidden, "Sign in first.")
		}
		return v.act(c, p, action)
	})
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, strings.TrimSuffix(v.r.URL.Path, "/"+action), http.StatusSeeOther)
	return nil
}

func (v *visit) act(c *call, p *pull, action string) error {
	seen := v.r.PostFormValue("head")
	if action != "close" && action != "reopen" && seen != p.headSHA {
		return refuse(http.StatusConflict, "The branch has moved since you looked. Go back and reload the page.")
	}
	switch action {
	case "merge":
		return c.merge(p, mergeRequest{Method: v.r.PostFormValue("method")})
	case "approve":
		_, err := c.submit(p, reviewRequest{Event: "APPROVE", Body: v.r.PostFormValue("body")})
		return err
	case "close":
		return c.changeState(p, "closed")
	case "reopen":
		return c.changeState(p, "open")
	}
	return errNotFound
}

// changeState closes or reopens for who may, and tells of it.
func (c *call) changeState(p *pull, state string) error {
	if err := c.mayEdit(p); err != nil {
		return err
	}
	if p.state() == state {
		return nil
	}
	e, err := c.setState(p, state)
	if err != nil {
		return err
	}
	p.updated = c.forge.now()
	return c.forge.emitPull(c.ctx, c.repo, c.by.account, e)
}
