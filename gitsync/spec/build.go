package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http" //nolint:depguard // to take the network from kustomize, not to use it
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Builder calls Build on an input where that can do no harm, and returns what Build returns. Work
// that takes more than it may is an error with the methods Exceeds() string, which says what it
// exceeds, and NotBegun() bool, which reports whether it was not begun at all.
type Builder interface {
	Build(input []byte) ([]byte, error)
}

// ErrNotBuilt is what Read returns, with the reason, where nobody could build a kustomization: it
// says nothing about the repository.
var ErrNotBuilt = errors.New("a kustomization was not built")

// buildInput is a kustomization or chart, and all files that it may be built from.
type buildInput struct {
	Folder string `json:"folder"`
	Files  bundle `json:"files"`
	Limits Limits `json:"limits"`
	// Helm is set for a chart, and Namespace is then that of the release.
	Helm      *v1alpha1.HelmChart `json:"helm,omitempty"`
	Namespace string              `json:"namespace,omitempty"`
}

// buildOutput is the result of a kustomization or chart.
type buildOutput struct {
	Objects []builtObject `json:"objects,omitempty"`
	// Problems are problems of files, and Failure is the error of kustomize if there are none.
	Problems []Error `json:"problems,omitempty"`
	Failure  string  `json:"failure,omitempty"`
	// ReleaseFile has a BatchRelease without which there would be no failure.
	ReleaseFile string `json:"releaseFile,omitempty"`
}

// builtObject is an object, and the place of the document that it was made of, as far as that can
// be told.
type builtObject struct {
	Object       json.RawMessage `json:"object"`
	File         string          `json:"file,omitempty"`
	Line, Column int
}

// Build builds a kustomization or chart from its files, and fails only for invalid input. A caller
// with files of others runs it in a process of its own, without a network, programs or files, and
// with limits: see package sandbox.
func Build(input []byte) ([]byte, error) {
	http.DefaultTransport = nowhere{} // kustomize's own client has no other
	var in buildInput
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("read what to build: %w", err)
	}
	if in.Helm != nil {
		return json.Marshal(in.render())
	}
	return json.Marshal(in.build())
}

// nowhere is the transport to no address at all.
type nowhere struct{}

// RoundTrip implements http.RoundTripper.
func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing is fetched from elsewhere")
}

// build checks all references again, now in the files that are read, and builds.
func (in buildInput) build() buildOutput {
	files := in.Files.withFolders()
	check := newReferenceCheck(files, in.Limits, nil)
	check.visit(in.Folder)
	if len(check.errors) > 0 {
		return buildOutput{Problems: check.errors}
	}
	view := newView(files, in.Limits, check)
	file := kustomizationFile(files, in.Folder)
	if problems := view.inspectAll(in.Folder); len(problems) > 0 {
		return buildOutput{Problems: problems}
	}
	files.referNames(file)
	objects, err := kustomize(view, in.Folder)
	switch {
	case err != nil && len(view.problems) > 0:
		return buildOutput{Problems: view.problems}
	case err != nil:
		return buildOutput{Failure: shorten(lastLinkFirst(err.Error())), ReleaseFile: in.breakingRelease()}
	case objects.Size() > in.Limits.Objects:
		return buildOutput{Problems: []Error{tooManyObjects(file, in.Limits)}}
	}
	var out buildOutput
	for _, object := range objects.Resources() {
		data, err := object.MarshalJSON()
		if err != nil {
			return buildOutput{Failure: shorten(err.Error())}
		}
		from := view.originOf(data)
		at := from.find("apiVersion")
		out.Objects = append(out.Objects, builtObject{Object: data, File: from.file, Line: at.line, Column: at.column})
	}
	return out
}

// breakingRelease names a file with BatchReleases if the build fails only because they are among
// the resources; empty if it does not. Argo CD and Flux, which build the same folder, fail then,
// too.
func (in buildInput) breakingRelease() string {
	without, found := bundle{}, ""
	for name, data := range in.Files {
		rest, has := withoutReleases(data, in.Limits)
		if without[name] = data; has && isYAML(name) && !isKustomization(name) {
			without[name] = rest
			if found == "" || name < found {
				found = name
			}
		}
	}
	if found == "" {
		return ""
	}
	files := without.withFolders()
	check := newReferenceCheck(files, in.Limits, nil)
	check.visit(in.Folder)
	if _, err := kustomize(newView(files, in.Limits, check), in.Folder); err != nil || len(check.errors) > 0 {
		return ""
	}
	return found
}

// withoutReleases returns a file of manifests without its BatchReleases, and reports whether it has
// any.
func withoutReleases(data []byte, limits Limits) ([]byte, bool) {
	documents, _ := split(data, limits)
	var rest []byte
	found := false
	for _, doc := range documents {
		var object header
		if yaml.Unmarshal(doc.text, &object) == nil && object.Kind == string(releaseKind) {
			found = true
			continue
		}
		rest = append(append(rest, "---\n"...), bytes.TrimPrefix(doc.text, []byte("---"))...)
	}
	if rest == nil { // kustomize takes an empty list, and no empty file
		rest = []byte("apiVersion: v1\nkind: List\nitems: []\n")
	}
	return rest, found
}

// accumulating matches how each link of a chain begins.
var accumulating = regexp.MustCompile(`^accumulating resources from '[^']*': (?:'[^']*' must resolve to a file': )?`)

// lastLinkFirst turns a chain of errors of kustomize, each of which quotes the one that caused it,
// around: the cause is the last.
func lastLinkFirst(message string) string {
	at := strings.LastIndex(message, "err='")
	if at < 0 {
		return message
	}
	cause, _, _ := strings.Cut(message[at+len("err='"):], "': must build at directory")
	cause, _, _ = strings.Cut(cause, "': recursed accumulation")
	return accumulating.ReplaceAllString(strings.TrimRight(cause, "'"), "") + " (kustomize: " + message[:at] + "…)"
}

func tooManyObjects(file string, limits Limits) Error {
	return Error{File: file, Message: fmt.Sprintf(
		"the kustomization makes more than %d objects, counting each as often as it is referred to: make it several, which none refers to", limits.Objects)}
}

// maxMessage keeps a message of kustomize, which quotes whole chains of errors, readable.
const maxMessage = 500

func shorten(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}

// kustomize runs kustomize, with nothing to read but the view.
func kustomize(view *view, folder string) (objects resmap.ResMap, err error) {
	defer func() {
		if reason := recover(); reason != nil { // so that the file is named
			err = fmt.Errorf("kustomize fails on this kustomization: %v", reason)
		}
	}()
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(view, path.Join("/", folder))
}

var _ filesys.FileSystem = (*view)(nil)
