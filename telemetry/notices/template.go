package notices

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// usualTemplate is the template of receivers that have none.
const usualTemplate = `{{emoji .Kind}} *{{.Namespace}}/{{.Release}}*{{if .Cluster}} ({{.Cluster}}){{end}}: {{.Summary}}
{{- if .Commit}}
{{short .Commit}} {{.Subject}}{{if .Author}} ({{.Author}}){{end}}{{end}}
{{- if .Message}}
>{{.Message}}{{end}}
{{- if .Gate}}{{if .Gate.URL}}
<{{.Gate.URL}}|Open it>{{end}}{{end}}
{{- if .Command}}
` + "`{{.Command}}`{{end}}"

// functions are what templates can call, beside and, or, not, len and comparisons.
var functions = template.FuncMap{
	"emoji": func(of story.Kind) string { return kinds[of].emoji },
	"short": plain.Commit,
	"time":  func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") },
}

// builtin are the functions of text/template that are allowed: none of them makes text longer.
var builtin = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len"}

// sizeTemplate bounds a template, in bytes.
const sizeTemplate = 8 << 10

// words are a template that always ends: it has no loops, calls nothing that makes text, and sees
// bounded values.
type words struct{ template *template.Template }

// newWords reads a template, and tries it on a notice of each of these kinds.
func newWords(text string, tried []story.Kind) (*words, error) {
	if len(text) > sizeTemplate {
		return nil, fmt.Errorf("must be at most %d bytes", sizeTemplate)
	}
	parsed, err := template.New("template").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	if len(parsed.Templates()) > 1 {
		return nil, errors.New("define and block are not supported")
	}
	if parsed.Tree == nil || parse.IsEmptyTree(parsed.Root) {
		return nil, errors.New("must not be empty")
	}
	if err := closed(parsed.Root); err != nil {
		return nil, err
	}
	w := &words{parsed}
	for _, of := range tried {
		if _, err := w.fill(Sample(of)); err != nil {
			return nil, fmt.Errorf("can't be filled with a notice of kind %s: %w", of, err)
		}
	}
	return w, nil
}

// closed refuses what could take long or produce much text: loops, other templates, and functions
// that produce text.
func closed(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return eachClosed(n.Nodes)
	case *parse.RangeNode:
		return errors.New("range is not supported: no field is a list")
	case *parse.TemplateNode:
		return errors.New("template is not supported")
	case *parse.IfNode:
		return branchClosed(&n.BranchNode)
	case *parse.WithNode:
		return branchClosed(&n.BranchNode)
	case *parse.ActionNode:
		return closed(n.Pipe)
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		for _, command := range n.Cmds {
			if err := eachClosed(command.Args); err != nil {
				return err
			}
		}
	case *parse.FieldNode:
		return fields(n.Ident)
	case *parse.VariableNode:
		return fields(n.Ident[1:])
	case *parse.ChainNode:
		if err := fields(n.Field); err != nil {
			return err
		}
		return closed(n.Node)
	case *parse.IdentifierNode:
		return known(n.Ident)
	}
	return nil
}

func eachClosed(nodes []parse.Node) error {
	for _, node := range nodes {
		if err := closed(node); err != nil {
			return err
		}
	}
	return nil
}

func branchClosed(branch *parse.BranchNode) error {
	if err := closed(branch.Pipe); err != nil {
		return err
	}
	if err := closed(branch.List); err != nil {
		return err
	}
	return closed(branch.ElseList)
}

// fields refuses what is not a field of a notice: methods of its values, such as those of a time,
// make text.
func fields(names []string) error {
	for _, name := range names {
		_, ofNotice := reflect.TypeFor[Notice]().FieldByName(name)
		if _, ofGate := reflect.TypeFor[Gate]().FieldByName(name); !ofNotice && !ofGate {
			return fmt.Errorf("there is no field %s", name)
		}
	}
	return nil
}

func known(function string) error {
	if _, ours := functions[function]; ours {
		return nil
	}
	if slices.Contains(builtin, function) {
		return nil
	}
	return fmt.Errorf("the function %s is not supported", function)
}

// fill returns the template with the values of a notice, as far as it fits into a message.
func (w *words) fill(n Notice) (string, error) {
	out := &bounded{room: sizeSlack}
	err := w.template.Execute(out, n)
	if err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	return plain.UpTo(strings.TrimSpace(strings.ToValidUTF8(out.text.String(), "")), sizeSlack), nil
}

// errFull says that a message has its maximum length.
var errFull = errors.New("the message is full")

// bounded keeps what fits, and a byte to tell that there was more.
type bounded struct {
	text strings.Builder
	room int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	left := b.room + 1 - b.text.Len()
	if len(p) <= left {
		return b.text.Write(p)
	}
	b.text.Write(p[:left])
	return left, errFull
}

// Sample returns a notice of a kind about a release that does not exist.
func Sample(of story.Kind) Notice {
	n := Notice{
		Kind: of, Cluster: "example", Namespace: "shop", Release: "web", Workload: "Deployment/web", Attempt: 7, Revision: "5f7c9d8b6", From: "6d4b75cb6d",
		Commit: "0123456789abcdef0123456789abcdef01234567", Author: "Ada Lovelace", Subject: "Show prices with tax", Batch: 2, Batches: 4,
		Message: "This is a test: no release is in progress.", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	switch of {
	case story.GateUndecided:
		n.Gate = &Gate{Name: "web-7-2-0", Type: v1alpha1.GateMetrics}
	case story.GateOpened, story.GatePassed, story.GateRejected:
		n.Gate = &Gate{Name: "web-7-2-0", Type: v1alpha1.GateManual, By: "ada"}
	case story.ReleaseStopped:
		n.StoppedBy = v1alpha1.StopSuspended
	case story.RollbackStarted, story.RolledBack:
		n.Trigger = v1alpha1.TriggerAnnotation
	}
	n.Command, n.Summary = command(&n), summary(&n)
	return n
}
