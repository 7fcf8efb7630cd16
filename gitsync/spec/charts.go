package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/chart"
)

// ErrNoChart is the error of Read, with the folder, where Options.Helm is set and it has no chart.
var ErrNoChart = errors.New("there is no chart to render")

// chartAt returns the folder of the chart that Options.Helm asks for.
func chartAt(files fs.FS, root string) (string, error) {
	if !isRegular(files, path.Join(root, chart.File)) {
		return "", fmt.Errorf("%w: spec.helm is set, and %q has no %s: name the folder of the chart in spec.path, or take spec.helm out",
			ErrNoChart, root, chart.File)
	}
	return root, nil
}

// isOfChart reports whether a file or folder in the folder of a chart belongs to it. Manifests may
// stand beside.
func isOfChart(name string, folder bool) bool {
	if folder {
		return slices.Contains([]string{"templates", "charts", "crds", "ci"}, name)
	}
	return name == chart.File || isYAML(name) && strings.HasPrefix(name, "values")
}

// takenByChart reports whether a file of a chart is no manifest that stands beside it.
func takenByChart(folder, name string, helm *v1alpha1.HelmChart) bool {
	rel := name
	if folder != "." {
		rel = strings.TrimPrefix(name, folder+"/")
	}
	first, _, deeper := strings.Cut(rel, "/")
	return isOfChart(first, deeper) || slices.ContainsFunc(helm.ValuesFiles, func(values string) bool { return path.Join(folder, values) == name })
}

// readChart renders the chart of the source, unless it did so before.
func (p *pass) readChart(folder string) error {
	if folder == "" {
		return nil
	}
	check := newReferenceCheck(p.tree, p.opts.Limits, nil)
	check.visitChart(folder, p.opts.Helm)
	p.errors = append(p.errors, check.errors...)
	if len(check.errors) > 0 {
		p.doubtBuild(folder, check)
		return nil
	}
	return p.readBuild(folder, check)
}

// visitChart takes note of all files that a chart is rendered from.
func (c *referenceCheck) visitChart(folder string, helm *v1alpha1.HelmChart) {
	file := path.Join(folder, chart.File)
	entries := 0
	err := fs.WalkDir(c.files, folder, func(name string, d fs.DirEntry, err error) error {
		switch entries++; {
		case err != nil:
			return err
		case entries > c.limits.Entries:
			return fmt.Errorf("it has more than %d files and folders", c.limits.Entries)
		case d.IsDir() && isTooDeep(name, c.limits):
			return fmt.Errorf("%s is more than %d folders deep", name, c.limits.Depth)
		case d.IsDir():
			if name != folder && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case !d.Type().IsRegular():
			c.fail(name, position{}, "a symbolic link or submodule is not followed: the chart can't be rendered with it")
		default:
			c.inputs[name] = true
		}
		return nil
	})
	if err != nil {
		c.fail(file, position{}, "the chart can't be rendered: "+err.Error())
	}
	for i, values := range helm.ValuesFiles {
		c.referValues(file, fmt.Sprintf("spec.helm.valuesFiles[%d]", i), values)
	}
}

// referValues takes note of a file of values.
func (c *referenceCheck) referValues(file, field, values string) {
	name := path.Join(path.Dir(file), values)
	switch {
	case isRemote(values):
		c.fail(file, position{}, fmt.Sprintf("%s: %q is not in the repository, and nothing is fetched from elsewhere", field, values))
	case !c.refer(file, position{}, field, values):
	case !isRegular(c.files, name):
		c.fail(file, position{}, fmt.Sprintf("%s: the repository has no %s", field, name))
	}
}

// render renders a chart, and looks for values that are others each time.
func (in buildInput) render() buildOutput {
	chart.Confine(in.Limits.BuildBytes)
	if problems := in.checkValues(); problems != nil {
		return buildOutput{Problems: problems}
	}
	calls := &chart.Calls{}
	first := in.renderWith(calls)
	if first.Problems != nil {
		return first
	}
	again := calls.Again(calls.Count())
	difference := differ(first, in.renderWith(again))
	if difference == "" {
		return first
	}
	problem := Error{File: path.Join(in.Folder, chart.File)}
	if n := calls.Count(); n > 0 {
		// Find the first call that makes the result differ.
		one := 1 + sort.Search(n-1, func(i int) bool { return differ(first, in.renderWith(calls.Again(i+1))) != "" })
		if found := in.renderWith(calls.Refusing(one)).Problems; len(found) > 0 {
			problem.File, problem.Line, problem.Column = found[0].File, found[0].Line, found[0].Column
			difference = fmt.Sprintf("%s, since %s returns something else each time", difference, calls.Name(one))
		}
	}
	problem.Message = difference + ": each render would be a release. Set the value that makes it unnecessary"
	return buildOutput{Problems: []Error{problem}}
}

// checkValues checks what Helm will parse, with the lines that it does not name.
func (in buildInput) checkValues() []Error {
	var problems []Error
	for _, name := range slices.Concat([]string{chart.File, "values.yaml"}, in.Helm.ValuesFiles) {
		file := path.Join(in.Folder, name)
		documents, found := split(in.Files[file], in.Limits)
		for _, doc := range documents {
			found = append(found, doc.checkYAML(in.Limits)...)
		}
		for _, problem := range found {
			problems = append(problems, problem.at.error(file, problem.message))
		}
	}
	return problems
}

// renderWith renders a chart once.
func (in buildInput) renderWith(calls *chart.Calls) buildOutput {
	texts, problems := in.chart().Render(calls)
	var out buildOutput
	for _, problem := range problems {
		out.Problems = append(out.Problems, Error{problem.File, problem.Line, problem.Column, shorten(problem.Message)})
	}
	for _, text := range texts {
		in.takeText(text, &out)
	}
	if len(out.Objects) > in.Limits.Objects {
		out.Problems = append(out.Problems, Error{File: path.Join(in.Folder, chart.File), Message: fmt.Sprintf(
			"the chart makes more than %d objects: make it several, or raise the limit", in.Limits.Objects)})
	}
	return out
}

func (in buildInput) chart() chart.Chart {
	made := chart.Chart{
		Files: in.Files, Folder: in.Folder, ReleaseName: in.Helm.ReleaseName, Namespace: in.Namespace, KubeVersion: in.Helm.KubeVersion,
	}
	if made.KubeVersion == "" {
		made.KubeVersion = v1alpha1.DefaultKubeVersion
	}
	for _, values := range in.Helm.ValuesFiles {
		made.ValuesFiles = append(made.ValuesFiles, path.Join(in.Folder, values))
	}
	if in.Helm.Values != nil {
		made.Values = in.Helm.Values.Raw
	}
	return made
}

// takeText adds the objects that a template makes.
func (in buildInput) takeText(text chart.Text, out *buildOutput) {
	documents, problems := split(text.Data, in.Limits)
	for _, doc := range documents {
		data, found := doc.toJSON(in.Limits)
		if found != nil && !concernsReleases(doc.text) {
			continue // as in any file: it is no manifest of a release or workload
		}
		problems = append(problems, found...)
		if found == nil {
			in.takeObject(text, data, out)
		}
	}
	for _, problem := range problems {
		message := fmt.Sprintf("line %d of what %s makes: %s", problem.at.line, text.Template, problem.message)
		out.Problems = append(out.Problems, Error{File: text.File, Message: shorten(message)})
	}
}

// hookAnnotation makes an object a hook, such as a test, which Helm runs beside a release.
const hookAnnotation = "helm.sh/hook"

// takeObject adds an object, or those of a list.
func (in buildInput) takeObject(text chart.Text, data []byte, out *buildOutput) {
	object, _ := decode(data).(map[string]any)
	if items, is := itemsOf(object); is {
		for _, item := range items {
			if one, err := json.Marshal(item); err == nil {
				in.takeObject(text, one, out)
			}
		}
		return
	}
	var of header
	if json.Unmarshal(data, &of) != nil || of.Kind == "" || of.Metadata.Annotations[hookAnnotation] != "" {
		return
	}
	line := lineOfKind(in.Files[text.File], of.Kind)
	out.Objects = append(out.Objects, builtObject{Object: data, File: text.File, Line: line, Column: min(line, 1)})
}

// lineOfKind returns the line of a template on which the only object of a kind begins; 0 if that is
// not known.
func lineOfKind(template []byte, kind string) int {
	found, line := 0, 0
	for text := range strings.Lines(string(template)) {
		line++
		key, value, _ := strings.Cut(text, ":")
		if key != "kind" || strings.Trim(strings.TrimSpace(value), `"'`) != kind {
			continue
		}
		if found > 0 {
			return 0
		}
		found = line
	}
	return found
}

// differ says in which released object, and in which field of it, two renders differ; empty if they
// don't.
func differ(first, again buildOutput) string {
	if again.Problems != nil {
		return "what the chart makes depends on chance: " + again.Problems[0].Message
	}
	before, after := released(first), released(again)
	for i := range max(len(before), len(after)) {
		if i >= len(before) || i >= len(after) {
			return "the number of workloads and releases is another one each time"
		}
		if at := differing("object", before[i], after[i]); at != "" {
			object, _ := before[i].(map[string]any)
			metadata, _ := object["metadata"].(map[string]any)
			return fmt.Sprintf("%v %v: %s is another one each time the chart is rendered",
				object["kind"], metadata["name"], strings.TrimPrefix(at, "object."))
		}
	}
	return ""
}

// released returns the workloads and releases of a render. All else is not applied.
func released(out buildOutput) []any {
	var all []any
	for _, built := range out.Objects {
		object, _ := decode(built.Object).(map[string]any)
		name, _ := object["kind"].(string)
		if isRelease(object) || kind(name).isWorkload() {
			all = append(all, object)
		}
	}
	return all
}

// differing returns the path of the first field in which two values differ; empty if they don't.
func differing(at string, before, after any) string {
	switch was := before.(type) {
	case map[string]any:
		is, _ := after.(map[string]any)
		if is == nil || len(was) != len(is) {
			return at
		}
		for _, key := range sortedKeys(was) {
			if found := differing(at+"."+key, was[key], is[key]); found != "" {
				return found
			}
		}
		return ""
	case []any:
		is, _ := after.([]any)
		if len(was) != len(is) {
			return at
		}
		for i := range was {
			if found := differing(fmt.Sprintf("%s[%d]", at, i), was[i], is[i]); found != "" {
				return found
			}
		}
		return ""
	}
	if before != after {
		return at
	}
	return ""
}
