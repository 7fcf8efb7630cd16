package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http" //nolint:depguard // to take the network from kustomize, not to use it
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Builder calls Build on an input where that can do no harm, and returns what Build returns. Work that takes more than it may is an
// error with the method Exceeds() string, which says what it exceeds.
type Builder interface {
	Build(input []byte) ([]byte, error)
}

// ErrNotBuilt is what Read returns, with the reason, where nobody could build a kustomization: it says
// nothing about the repository.
var ErrNotBuilt = errors.New("a kustomization was not built")

// buildInput is a kustomization, and all files that it may be built from.
type buildInput struct {
	Folder string `json:"folder"`
	Files  bundle `json:"files"`
	Limits Limits `json:"limits"`
}

// buildOutput is the result of a kustomization.
type buildOutput struct {
	Objects []builtObject `json:"objects,omitempty"`
	// Problems of files, and Failure is what kustomize says where there are none.
	Problems []Error `json:"problems,omitempty"`
	Failure  string  `json:"failure,omitempty"`
}

// builtObject is an object, and the place of the document that it was made of, as far as that can be told.
type builtObject struct {
	Object       json.RawMessage `json:"object"`
	File         string          `json:"file,omitempty"`
	Line, Column int
}

// Build builds a kustomization from its files, and fails only for what is no input. Whoever calls it on files of strangers
// does so in a process of its own, without a network, programs or files, and with limits: see package sandbox.
func Build(input []byte) ([]byte, error) {
	http.DefaultTransport = nowhere{} // kustomize's own client has no other
	var in buildInput
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("read what to build: %w", err)
	}
	return json.Marshal(in.build())
}

// nowhere is the transport to no address at all.
type nowhere struct{}

// RoundTrip implements http.RoundTripper.
func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing is fetched from elsewhere")
}

// build checks all references again, since these files are those that are read, and builds.
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
		return buildOutput{Failure: shorten(err.Error())}
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
