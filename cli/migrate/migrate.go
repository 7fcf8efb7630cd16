// Package migrate translates analyses of other tools into MetricProviders and gates; pure.
//
//	files ─► documents ─┬► AnalysisTemplate, Rollout ─┐             ┌► MetricProviders, gates ─► YAML
//	                    └► Canary, MetricTemplate ────┴► translate ─┤
//	                                                                └► Findings ─► a line each
//
// What must hold:
//
//   - each field of an analysis is translated, or has a finding that names it;
//   - each metric and gate that is written is valid by the rules of package gate;
//   - texts of the input reach the output through an encoder, or as a comment of one line. A text
//     with characters that are not visible reaches it not at all.
package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// File is a file with manifests.
type File struct {
	Name string
	Data []byte
}

// Options hold what no manifest says.
type Options struct {
	// Prometheus is the address of the server of metrics that name none.
	Prometheus string
	// Arguments are values for arguments of AnalysisTemplates. A value such as $(revision) stands for
	// the variable of Sluice.
	Arguments map[string]string
	// Limits bound the files.
	Limits spec.Limits
}

// Result holds MetricProviders, gates, and findings.
type Result struct {
	providers []*provider
	gates     []gates
	// Findings say what is not translated as it is, in the order of the input.
	Findings []Finding
	// Metrics is the number of metrics that are translated.
	Metrics int
	// Analyses is the number of objects that have metrics.
	Analyses int
}

// Kind says what became of a field.
type Kind string

const (
	// LeftOut marks a field without an equal.
	LeftOut Kind = "left out"
	// Changed marks a field that means something else here.
	Changed Kind = "changed"
	// Note marks what is worth knowing, and changes nothing.
	Note Kind = "note"
)

// Finding says what became of a field, and what to do.
type Finding struct {
	File string
	// Line and Column count from 1; 0 if the field is in no file.
	Line, Column int
	Kind         Kind
	// Field is the path of the field in its document.
	Field   string
	Message string
}

const (
	// maxFindings is the number of findings that are kept.
	maxFindings = 1000
	// maxMetrics is the number of metrics that are translated at a time.
	maxMetrics = 1000
	// maxOfTemplate bounds the arguments of a template, and its patterns of dry runs.
	maxOfTemplate = 100
)

// Count returns the number of findings of a kind.
func (r *Result) Count(kind Kind) int {
	count := 0
	for _, finding := range r.Findings {
		if finding.Kind == kind {
			count++
		}
	}
	return count
}

// Analyses translates the analyses in files. With errors, some can't be read, and there is no
// result.
func Analyses(files []File, options Options) (*Result, []spec.Error) {
	t := &translation{options: options, found: map[Finding]bool{}, reported: map[reported]bool{}, asked: map[string]bool{}, providers: map[string]*provider{}, names: map[string]bool{}}
	var unread []spec.Error
	for _, file := range files {
		documents, errors := spec.Documents(file.Data, options.Limits)
		for _, err := range errors {
			err.File = file.Name
			unread = append(unread, err)
		}
		for _, document := range documents {
			t.take(&input{t, file.Name, document}, "", document.Value)
		}
	}
	if unread != nil {
		return nil, unread
	}
	t.translateArgo()
	t.translateFlagger()
	t.checkOptions()
	t.result.Findings = t.findings()
	return &t.result, nil
}

// translation is the state of a translation.
type translation struct {
	options Options
	result  Result
	found   map[Finding]bool
	more    int
	// reported has the findings of documents, so that each is looked up once.
	reported map[reported]bool

	templates []*argoTemplate
	// given are the arguments that Rollouts give to templates.
	given []given
	// asked are the names of arguments that some template has.
	asked map[string]bool

	// providers are the last provider of each server, and names those of all.
	providers map[string]*provider
	names     map[string]bool

	metricTemplates []*metricTemplate
	canaries        []*object
}

// take sorts an object of the input by its kind, and the items of a list each by its own.
func (t *translation) take(in *input, path string, value any) {
	fields, is := value.(map[string]any)
	if !is {
		in.report(LeftOut, path, "is not a Kubernetes object")
		return
	}
	o := in.object(path, fields)
	kind, group := o.text("kind"), groupOf(o.text("apiVersion"))
	if items, is := fields["items"].([]any); is && strings.HasSuffix(kind, "List") && path == "" {
		o.skip("metadata", "items")
		o.noEqual()
		for i, item := range items {
			t.take(in, fmt.Sprintf("items[%d]", i), item)
		}
		return
	}
	switch group + "/" + kind {
	case "argoproj.io/AnalysisTemplate", "argoproj.io/ClusterAnalysisTemplate":
		t.takeArgo(o, kind)
	case "argoproj.io/Rollout":
		t.takeRollout(o)
	case "argoproj.io/AnalysisRun", "argoproj.io/Experiment":
		o.report(LeftOut, "kind", kind+" is made for one release: give the AnalysisTemplates that it comes from")
	case "flagger.app/MetricTemplate":
		t.takeMetricTemplate(o)
	case "flagger.app/Canary":
		t.canaries = append(t.canaries, o)
		t.result.Analyses++
	default:
		o.report(Note, "kind", "is not an analysis, and is left as it is")
	}
}

func prefix(path string) string {
	if path == "" || strings.HasSuffix(path, ".") {
		return path
	}
	return path + "."
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}

// checkOptions reports arguments that no template has.
func (t *translation) checkOptions() {
	for _, name := range slices.Sorted(maps.Keys(t.options.Arguments)) {
		if !t.asked[name] {
			t.report(Finding{Kind: LeftOut, Field: "--arg " + name, Message: "no template in the files has this argument: correct the name"})
		}
	}
}

// report keeps a finding, once.
func (t *translation) report(f Finding) {
	switch {
	case t.found[f]:
	case len(t.found) >= maxFindings:
		t.more++
	default:
		t.found[f] = true
	}
}

// findings returns the findings in the order of the input.
func (t *translation) findings() []Finding {
	all := slices.SortedFunc(maps.Keys(t.found), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	if t.more > 0 {
		all = append(all, Finding{Kind: LeftOut, Message: fmt.Sprintf("there are %d more findings: give fewer files at a time", t.more)})
	}
	return all
}
