package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/dashboard/view"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/steer"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// handleActions serves the confirmation pages and their forms.
func (d *Dashboard) handleActions(mux *http.ServeMux) {
	mux.Handle("GET /releases/{namespace}/{name}/{action}", d.page(named(d.confirmAction)))
	mux.Handle("POST /releases/{namespace}/{name}/{action}", d.page(named(d.act)))
}

// formField is the field that identifies a form, so that a form that is sent twice is recognized.
const formField = "form"

// confirmAction shows the confirmation page of an action.
func (d *Dashboard) confirmAction(r *http.Request, viewer *access.Viewer) (*answer, error) {
	what := verb.Named(r.PathValue("action"))
	if what == nil {
		return nil, errNoPage
	}
	query := r.URL.Query()
	batch, _ := strconv.ParseInt(query.Get("batch"), 10, 32) // none is chosen
	return d.confirm(r, viewer, what, asked{Request: verb.Request{By: viewer.Name, To: query.Get("to"), Batch: int32(batch)}}, nil)
}

// mistake is the problem of a form: of its text, or of the rest.
type mistake struct{ words, form string }

func (m *mistake) Error() string { return m.words + m.form }

// confirm returns the confirmation page, with what was typed and what was wrong with it.
func (d *Dashboard) confirm(r *http.Request, viewer *access.Viewer, what *verb.Verb, a asked, wrong *mistake) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	done, err := d.reads.take(ctx, viewer.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	sight, err := lookup.Visible(ctx, viewer.Client, keyOf(r))
	if err != nil {
		return nil, err
	}
	needs := patching(what.Needs)
	may, err := d.rights.May(ctx, viewer, sight.Release.Namespace, needs)
	if err != nil {
		return nil, err
	}
	if !may {
		resource := schema.GroupResource{Group: needs.Group, Resource: strings.TrimSuffix(needs.Resource+"/"+needs.Subresource, "/")}
		return nil, apierrors.NewForbidden(resource, sight.Release.Name, fmt.Errorf("you may not %s them", needs.Verb))
	}
	now := situationOf(sight)
	if !what.Possible(now, viewer.Name) {
		return d.explain(now.Release.Namespace, now.Release.Name, what.Refusal(now, viewer.Name))
	}
	shown := view.ConfirmOf(what, sight, what.Answers(now, viewer.Name), viewer.Name)
	shown.Hidden = append(seenOf(sight.Release).fields(), view.Field{Name: formField, Value: rand.Text()})
	if err := d.fill(shown, what, sight, now, a); err != nil {
		return nil, err
	}
	made := &answer{name: page.Confirm, frame: page.Frame{Title: shown.Title, Content: shown}}
	if wrong != nil {
		made.status = http.StatusUnprocessableEntity
		keepTyped(shown, a, wrong)
	}
	return made, nil
}

// fill adds the choices of a verb, with a preview of the chosen version.
func (d *Dashboard) fill(shown *view.Confirm, what *verb.Verb, sight *show.Sight, now verb.Situation, a asked) error {
	switch what.Asks {
	case verb.Batch:
		shown.Batches = view.ChoicesOf(what.Choices(now), strconv.Itoa(int(a.Batch)))
	case verb.Version:
		shown.Targets = view.ChoicesOf(what.Choices(now), a.To)
		if !slices.ContainsFunc(shown.Targets, func(c view.Choice) bool { return c.Checked }) {
			if a.To != "" {
				return errNoPage
			}
			shown.Targets[0].Checked, a.To = true, shown.Targets[0].Value
		}
		shown.Hidden = append(shown.Hidden, view.Field{Name: "to", Value: a.To})
		shown.Preview = d.preview(sight, a)
	case verb.Nothing, verb.Answer:
	}
	return nil
}

// preview returns what a rollback would do.
func (d *Dashboard) preview(sight *show.Sight, a asked) *view.Rollback {
	if sight.Release.IsTrain() {
		return nil // what it does is said in words
	}
	to := a.To
	if to == "" {
		to = plan.Before(sight.Release)
	}
	pods := view.ReleaseOf(sight, false, d.options.Clock.Now()).Pods
	preview := view.RollbackOf(sight, to, pods)
	if !d.acting.simulate(a.By, func() { preview.Simulate = view.SimulationOf(limited(sight), to, pods) }) {
		preview.Simulate = &view.Simulation{Missing: "You already have a simulation running, or too many people have one. Reload the page to try again."}
	}
	return preview
}

// limited returns a release with the limits that its workload has when it is not held.
func limited(sight *show.Sight) *show.Sight {
	held, of := sight.Release.Status.Held, workload.New(sight.Release.Spec.WorkloadRef.Kind)
	if held == nil || of == nil {
		return sight
	}
	release := sight.Release.DeepCopy()
	strategy := &release.Spec.Strategy
	surge, unavailable := of.Limits(held.Strategy)
	strategy.MaxSurge, strategy.MaxUnavailable = cmp.Or(strategy.MaxSurge, surge), cmp.Or(strategy.MaxUnavailable, unavailable)
	whole := *sight.Whole
	whole.Release = release
	return &show.Sight{Whole: &whole, Kept: sight.Kept}
}

// keepTyped puts back what was typed, and says what is wrong with it.
func keepTyped(shown *view.Confirm, a asked, wrong *mistake) {
	shown.Problem = wrong.form
	if shown.Words != nil {
		shown.Words.Value, shown.Words.Problem = a.Text, wrong.words
	}
	for i := range shown.Gates {
		if shown.Pick {
			shown.Gates[i].Checked = slices.Contains(a.Gates, shown.Gates[i].UID)
		}
	}
}

// act performs the action of a form.
func (d *Dashboard) act(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	what, key := verb.Named(r.PathValue("action")), keyOf(r)
	if what == nil {
		return nil, errNoPage
	}
	if !d.acting.allow(viewer.Name, d.options.Clock.Now()) {
		return &answer{name: page.Problem, status: http.StatusTooManyRequests, frame: page.Frame{
			Title: "Too many forms", Content: "You sent many forms in a short time, so nothing was done for this one. Wait a few seconds and send it again.",
		}}, nil
	}
	if err := r.ParseForm(); err != nil { // the door has parsed it, within bounds
		return nil, fmt.Errorf("read form: %w", err)
	}
	a, wrong := readAsked(what, viewer, r)
	if wrong != nil {
		return d.confirm(r, viewer, what, a, wrong)
	}
	form := r.PostForm.Get(formField)
	if form == "" { // a form without the field is not recognized again
		form = rand.Text()
	}
	came, err := d.acting.once(ctx, strings.Join([]string{viewer.Name, r.URL.Path, form, r.PostForm.Encode()}, "\x00"), func() (told, error) {
		return d.perform(ctx, viewer, key, what, a)
	})
	if err != nil {
		return d.explain(key.Namespace, key.Name, err)
	}
	return &answer{to: came.sealed("/releases/"+key.Namespace+"/"+key.Name, viewer)}, nil
}

// readAsked reads what a form requests, or says what is wrong with it.
func readAsked(what *verb.Verb, viewer *access.Viewer, r *http.Request) (asked, *mistake) {
	form := r.PostForm
	a := asked{saw: readSeen(form), Request: verb.Request{By: viewer.Name, Gates: form["gate"], To: form.Get("to"), Before: form.Get("before")}}
	if batch, err := strconv.ParseInt(form.Get("batch"), 10, 32); err == nil {
		a.Batch = int32(batch)
	}
	if what.Asks == verb.Batch && a.Batch < 1 {
		return a, &mistake{form: "Choose a batch."}
	}
	if what.Text == nil {
		return a, nil
	}
	a.Text = strings.Join(strings.Fields(strings.ToValidUTF8(form.Get(what.Text.Name), "")), " ")
	switch length := utf8.RuneCountInString(a.Text); {
	case length > verb.MaxText:
		return a, &mistake{words: fmt.Sprintf("It has %d characters. Shorten it to %d or less.", length, verb.MaxText)}
	case length == 0 && what.Text.Required:
		return a, &mistake{words: "Say why: the reason is required."}
	case what.Picks && len(a.Gates) == 0:
		return a, &mistake{form: "Choose the gates to force."}
	}
	return a, nil
}

// changed is the page that says why nothing was written.
type changed struct {
	Namespace, Name string
	Lead            string
	What            []string
}

// explain returns the page for an error that says why nothing was done; it returns other errors.
func (d *Dashboard) explain(namespace, name string, err error) (*answer, error) {
	content := changed{Namespace: namespace, Name: name}
	made := &answer{name: page.Changed, status: http.StatusConflict, frame: page.Frame{Title: "The release has changed"}}
	var differs *changedError
	var refused *steer.RefusedError
	switch {
	case errors.As(err, &differs):
		content.Lead, content.What = "Nothing was done: the release has changed since you loaded the page.", differs.what
	case errors.As(err, &refused):
		made.frame.Title, content.Lead, content.What = "Not possible now", "Nothing was done.", []string{refused.Error()}
	case apierrors.IsConflict(err):
		content.Lead = "Nothing was done: the release kept changing. Try again."
	case apierrors.IsInvalid(err):
		made.status, made.frame.Title, content.Lead = http.StatusUnprocessableEntity, "Not accepted", "The API server rejected the change."
		content.What = []string{statusMessage(err)}
	default:
		return nil, err
	}
	made.frame.Content = content
	return made, nil
}
