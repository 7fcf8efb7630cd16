package chart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	v2util "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/ignore"
)

// The files of a chart that are read by name.
const (
	// File makes a folder a chart.
	File       = "Chart.yaml"
	valuesFile = "values.yaml"
	schemaFile = "values.schema.json"
)

// Chart is a chart in a folder of a repository, and the release to render it for.
type Chart struct {
	// Files of the chart and of its values, by their paths from the root of the repository.
	Files map[string][]byte
	// Folder of the chart.
	Folder string
	// ReleaseName and Namespace of .Release.
	ReleaseName, Namespace string
	// KubeVersion is .Capabilities.KubeVersion.
	KubeVersion string
	// ValuesFiles are paths from the root of the repository; later ones go first.
	ValuesFiles []string
	// Values go before those of ValuesFiles.
	Values json.RawMessage
}

// Text is the output of one template.
type Text struct {
	// File is the template, from the root of the repository; that of the archive which holds it.
	File string
	// Template is its name as Helm has it.
	Template string
	Data     []byte
}

// Problem says what is wrong with a file. Line and Column count from 1; 0 where none is known.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// Confine sets what Helm keeps in variables of its packages: how many bytes an archive in charts/
// may be unpacked, and that nothing is logged. It is for a process that renders charts alone.
func Confine(maxBytes int64) {
	archive.MaxDecompressedChartSize = maxBytes
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
}

// Render returns what the templates of the chart make, sorted by name, or what is wrong. Calls of
// functions that return something else each time go through calls.
func (c Chart) Render(calls *Calls) ([]Text, []Problem) {
	problems := c.checkSchemas()
	loaded, problem := c.load()
	if problem != nil {
		problems = append(problems, *problem)
	}
	values, found := c.values()
	if problems = append(problems, found...); len(problems) > 0 {
		return nil, problems
	}
	if problems := c.checkDependencies(loaded); problems != nil {
		return nil, problems
	}
	aliases := aliasesOf(loaded)
	scope, problem := c.scope(loaded, values)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	made := engine.Engine{CustomTemplateFuncs: calls.functions()}
	rendered, err := made.Render(loaded, scope) //nolint:staticcheck // a context is for lookup alone, which is refused
	names := names{chart: c, root: loaded.Name(), aliases: aliases}
	if err != nil {
		return nil, []Problem{names.problem(err)}
	}
	return names.texts(rendered), nil
}

func (c Chart) fail(name, message string) *Problem {
	return &Problem{File: path.Join(c.Folder, name), Message: message}
}

// load loads the chart and the charts that it holds.
func (c Chart) load() (*v2.Chart, *Problem) {
	rules, err := c.ignored()
	if err != nil {
		return nil, c.fail(ignore.HelmIgnore, err.Error())
	}
	var files []*archive.BufferedFile
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		rel, below := c.inside(name)
		if !below || skips(rules, rel, int64(len(c.Files[name]))) {
			continue
		}
		files = append(files, &archive.BufferedFile{Name: rel, Data: bytes.TrimPrefix(c.Files[name], []byte("\xef\xbb\xbf"))})
	}
	loaded, err := loader.LoadFiles(files)
	switch {
	case err != nil:
		return nil, c.fail(File, err.Error())
	case loaded.Metadata.APIVersion != v2.APIVersionV1 && loaded.Metadata.APIVersion != v2.APIVersionV2:
		return nil, c.fail(File, fmt.Sprintf("apiVersion: charts of %q are not rendered, but those of v2 and v1", loaded.Metadata.APIVersion))
	case loaded.Metadata.Type == "library":
		return nil, c.fail(File, "type: a library chart renders nothing: name a folder of a chart that uses it")
	case loaded.Metadata.KubeVersion != "" && !v2util.IsCompatibleRange(loaded.Metadata.KubeVersion, "v"+strings.TrimPrefix(c.KubeVersion, "v")):
		return nil, c.fail(File, fmt.Sprintf("kubeVersion: the chart is for Kubernetes %s, and is rendered for %s: set kubeVersion in spec.helm of the source",
			loaded.Metadata.KubeVersion, c.KubeVersion))
	}
	putInOrder(loaded)
	return loaded, nil
}

// inside returns the path of a file from the folder of the chart, and reports whether it is in it.
func (c Chart) inside(name string) (string, bool) {
	if c.Folder == "." {
		return name, true
	}
	return strings.CutPrefix(name, c.Folder+"/")
}

// values returns those that the source gives.
func (c Chart) values() (map[string]any, []Problem) {
	all := map[string]any{}
	for _, name := range c.ValuesFiles {
		given, err := loader.LoadValues(bytes.NewReader(c.Files[name]))
		if err != nil {
			return nil, []Problem{{File: name, Message: err.Error()}}
		}
		all = loader.MergeMaps(all, given)
	}
	if len(c.Values) > 0 {
		given, err := loader.LoadValues(bytes.NewReader(c.Values))
		if err != nil {
			return nil, []Problem{*c.fail(File, "spec.helm.values of the source: "+err.Error())}
		}
		all = loader.MergeMaps(all, given)
	}
	return all, nil
}

// scope returns what templates see, if the values are as the schema wants them.
func (c Chart) scope(loaded *v2.Chart, values map[string]any) (common.Values, *Problem) {
	version, err := common.ParseKubeVersion(c.KubeVersion)
	if err != nil {
		return nil, c.fail(File, fmt.Sprintf("spec.helm.kubeVersion of the source: %v", err))
	}
	if err := v2util.ProcessDependencies(loaded, values); err != nil {
		return nil, c.fail(File, err.Error())
	}
	release := common.ReleaseOptions{Name: c.ReleaseName, Namespace: c.Namespace, Revision: 1, IsInstall: true}
	versions := slices.Clone(common.DefaultVersionSet)
	slices.Sort(versions)
	capabilities := &common.Capabilities{KubeVersion: *version, APIVersions: versions, HelmVersion: common.DefaultCapabilities.HelmVersion}
	scope, err := util.ToRenderValues(loaded, values, release, capabilities)
	if err != nil {
		return nil, c.fail(cmp.Or(c.present(schemaFile), File), strings.TrimSpace(err.Error()))
	}
	return scope, nil
}

// present returns the name of a file that the chart has; empty if it has none.
func (c Chart) present(name string) string {
	if _, has := c.Files[path.Join(c.Folder, name)]; has {
		return name
	}
	return ""
}
