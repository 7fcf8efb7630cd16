package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FreezeFile stops the releases of a repository while it is there, from the root of the repository.
const FreezeFile = ".sluice/freeze.yaml"

// maxFreeze is more bytes than a freeze needs.
const maxFreeze = 64 << 10

// Freeze is the content of a freeze file.
type Freeze struct {
	// Reason is a sentence for people.
	Reason string
	// Until is when it ends by itself; never if it is nil.
	Until *metav1.Time

	namespaces []string
	selector   labels.Selector
}

// freezeFile is the file as YAML.
type freezeFile struct {
	Reason     string                `json:"reason"`
	Until      *metav1.Time          `json:"until,omitempty"`
	Namespaces []string              `json:"namespaces,omitempty"`
	Selector   *metav1.LabelSelector `json:"selector,omitempty"`
}

// Covers reports whether a release of some labels is frozen.
func (f *Freeze) Covers(namespace string, of map[string]string) bool {
	return f != nil && (len(f.namespaces) == 0 || slices.Contains(f.namespaces, namespace)) && f.selector.Matches(labels.Set(of))
}

// ReadFreeze reads the freeze of a repository, nil if there is none. An invalid file freezes all
// releases: its author meant to stop some, and it is unknown which.
func ReadFreeze(files fs.FS) (*Freeze, []Error) {
	data, err := freezeContent(files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return frozenBy([]problem{{message: err.Error()}})
	}
	freeze, problems := parseFreeze(data)
	if problems != nil {
		return frozenBy(problems)
	}
	return freeze, nil
}

func frozenBy(problems []problem) (*Freeze, []Error) {
	var found []Error
	for _, p := range problems {
		found = append(found, p.at.error(FreezeFile, p.message+" (every release of the source is frozen until this is fixed)"))
	}
	reason := problems[0].at.error(FreezeFile, problems[0].message).Error()
	return &Freeze{Reason: reason, selector: labels.Everything()}, found
}

func freezeContent(files fs.FS) ([]byte, error) {
	info, err := fs.Lstat(files, FreezeFile)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("a freeze is a regular file: links, submodules and folders are not followed")
	case info.Size() > maxFreeze:
		return nil, fmt.Errorf("the file has %d bytes; a freeze has at most %d", info.Size(), maxFreeze)
	}
	return fs.ReadFile(files, FreezeFile)
}

func parseFreeze(data []byte) (*Freeze, []problem) {
	limits := Limits{}.withDefaults()
	documents, problems := split(data, limits)
	switch {
	case problems != nil:
		return nil, problems
	case len(documents) == 0:
		return nil, []problem{{lineStart(1), "the file is empty: reason is missing"}}
	case len(documents) > 1:
		return nil, []problem{{lineStart(documents[1].line), "a freeze is one document"}}
	}
	return parseFreezeDocument(documents[0], limits)
}

func parseFreezeDocument(doc document, limits Limits) (*Freeze, []problem) {
	data, problems := doc.toJSON(limits)
	if problems != nil {
		return nil, problems
	}
	check := &checker{}
	check.checkStruct(decode(data), reflect.TypeFor[freezeFile](), nil)
	var file freezeFile
	if check.problems == nil {
		if err := json.Unmarshal(data, &file); err != nil {
			check.problems = []pathProblem{{"", err.Error()}}
		} else if file.Reason == "" {
			check.problems = []pathProblem{{"reason", "reason: is missing"}}
		}
	}
	selector := labels.Everything()
	if check.problems == nil && file.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(file.Selector); err != nil {
			check.problems = []pathProblem{{"selector", "selector: " + err.Error()}}
		}
	}
	for _, p := range check.problems {
		problems = append(problems, problem{doc.find(p.path), p.message})
	}
	if problems != nil {
		return nil, problems
	}
	return &Freeze{Reason: file.Reason, Until: file.Until, namespaces: file.Namespaces, selector: selector}, nil
}
