package drift

import (
	"slices"
	"strings"
)

// path leads to a value of a template. Each element is a field of an object, or, where item is
// set, the name of an item of a list, so that an item's name never matches a field.
type path []element

type element struct {
	name string
	item bool
}

func at(fields ...string) path {
	var p path
	for _, name := range fields {
		p = p.field(name)
	}
	return p
}

func (p path) field(name string) path { return append(slices.Clip(p), element{name: name}) }
func (p path) item(name string) path  { return append(slices.Clip(p), element{name: name, item: true}) }

// String writes keys that users choose, or with dots in them, and items of lists in brackets.
func (p path) String() string {
	var b strings.Builder
	for i, e := range p {
		chosen := i > 0 && !p[i-1].item && (p[i-1].name == "annotations" || p[i-1].name == "labels")
		switch {
		case e.item || chosen || strings.ContainsAny(e.name, "./"):
			b.WriteString("[" + e.name + "]")
		case i > 0:
			b.WriteString("." + e.name)
		default:
			b.WriteString(e.name)
		}
	}
	return b.String()
}

// anything stands for one element: as [*] for an item of a list, else for a field.
const anything = "*"

// opened are the fields whose texts everybody may see: all others stay unsaid.
var opened = []path{
	pod("restartPolicy"), pod("serviceAccountName"), pod("priorityClassName"), pod("runtimeClassName"), pod("schedulerName"), pod("dnsPolicy"),
	container("containers", "image"), container("initContainers", "image"),
	container("containers", "imagePullPolicy"), container("initContainers", "imagePullPolicy"),
	container("initContainers", "restartPolicy"),
	container("containers", "resources", "requests", anything), container("initContainers", "resources", "requests", anything),
	container("containers", "resources", "limits", anything), container("initContainers", "resources", "limits", anything),
	container("containers", "ports").item(anything).field("protocol"), container("initContainers", "ports").item(anything).field("protocol"),
	pod("resources", "requests", anything), pod("resources", "limits", anything),
}

// pod leads to a field of the pod's spec.
func pod(fields ...string) path {
	return append(at("spec", "template", "spec"), at(fields...)...)
}

// container leads to a field of each container of a list.
func container(list string, fields ...string) path {
	return append(pod(list).item(anything), at(fields...)...)
}

// open reports whether everybody may see the text at a path.
func (p path) open() bool {
	return slices.ContainsFunc(opened, func(shown path) bool {
		return slices.EqualFunc(shown, p, func(pattern, e element) bool {
			return pattern.item == e.item && (pattern.name == anything || pattern.name == e.name)
		})
	})
}
