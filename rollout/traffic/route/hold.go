package route

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Holder is a release that shares requests.
type Holder struct {
	// Release is its namespace and name, with a slash between them.
	Release string `json:"release"`
	UID     string `json:"uid"`
}

// Use identifies a release and the Service whose requests it shares by a route.
type Use struct {
	// Namespace is that of the release and of the Service.
	Namespace string
	// Service is the one whose requests are shared.
	Service string
	Holder  Holder
}

// in returns the names of the Services, as a route of a namespace refers to them.
func (u Use) in(route string) names {
	return names{Sides: SidesOf(u.Service), namespace: u.Namespace, route: route}
}

// hold represents a Service's entry in the annotation of a route: the release that shares its
// requests, and the last write. The weight counts only where the rules don't show it.
type hold struct {
	Holder  `json:",inline"`
	Weight  int32                   `json:"weight"`
	Matches []v1alpha1.RequestMatch `json:"matches,omitempty"`
}

// holds map Services to the entries in a route's annotation, as they are: an entry that is not
// understood is not lost. The key of a Service in another namespace includes that namespace.
type holds map[string]json.RawMessage

// annotationPlace is where the annotation is, for people.
const annotationPlace = "metadata.annotations[" + v1alpha1.TrafficAnnotation + "]"

// What the API server allows all annotations of an object to have, in bytes.
const annotationsSize = 256 << 10

// holdsOf reads the annotation of a route. One that can't be read may be anybody's: such a route is
// left alone.
func holdsOf(obj *unstructured.Unstructured) (holds, *problem) {
	metadata, bad := objectIn(obj.Object, "metadata", "")
	if bad != nil {
		return nil, bad
	}
	annotations, bad := objectIn(metadata, "annotations", "metadata")
	if bad != nil {
		return nil, bad
	}
	value, ok := annotations[v1alpha1.TrafficAnnotation]
	if !ok {
		return nil, nil
	}
	var read holds
	if err := json.Unmarshal([]byte(text(value)), &read); err != nil || read == nil {
		return nil, notShareable("%s must be a JSON object, is %s: nobody can tell which releases share the route's requests", annotationPlace, quoted(value))
	}
	return read, nil
}

// of returns what is said under a key; nil if nothing.
func (h holds) of(key string) (*hold, *problem) {
	raw, ok := h[key]
	if !ok {
		return nil, nil
	}
	var one hold
	if err := json.Unmarshal(raw, &one); err != nil || !one.plausible() {
		return nil, notShareable("%s can't be read for Service %s: nobody can tell which release shares its requests", annotationPlace, key)
	}
	return &one, nil
}

// mostStepMatches is more than a step may have. What is beyond it was not written by Sluice, and
// would be work.
const mostStepMatches = 16

func (h *hold) plausible() bool {
	tooMany := slices.ContainsFunc(h.Matches, func(m v1alpha1.RequestMatch) bool {
		return len(m.Headers) > mostConditions || len(m.QueryParams) > mostConditions
	})
	return h.Release != "" && h.Weight >= 0 && h.Weight <= whole && len(h.Matches) <= mostStepMatches && !tooMany
}

// heldBy returns what the annotation says about the Service of a use; nil if nobody holds it. It is
// a problem if another release does. A release of the same name has taken the place of one that is
// gone.
func (h holds) heldBy(use Use, key string) (*hold, *problem) {
	one, bad := h.of(key)
	switch {
	case bad != nil:
		return nil, bad
	case one == nil:
		return nil, nil
	case one.Release != use.Holder.Release:
		return nil, problemf(v1alpha1.TrafficHeldByAnother, "release %s shares the requests for Service %s in this route", quoted(one.Release), use.Service)
	}
	return one, nil
}

// with returns the holds with one more.
func (h holds) with(key string, holder Holder, share traffic.Share) (holds, *problem) {
	raw, err := json.Marshal(hold{Holder: holder, Weight: share.Weight, Matches: share.Matches})
	if err != nil {
		return nil, notShareable("the matches can't be kept in an annotation: %v", err)
	}
	next := h.without(key)
	next[key] = raw
	return next, nil
}

func (h holds) without(key string) holds {
	next := maps.Clone(h)
	if next == nil {
		next = holds{}
	}
	delete(next, key)
	return next
}

// write gives an object the holds. The annotation goes with the last of them, and the annotations
// with the last of those.
func (h holds) write(obj *unstructured.Unstructured) *problem {
	metadata, _ := obj.Object["metadata"].(object)
	if metadata == nil {
		return notShareable("metadata must be an object")
	}
	annotations, _ := metadata["annotations"].(object)
	if len(h) == 0 {
		delete(annotations, v1alpha1.TrafficAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		return nil
	}
	value, err := json.Marshal(h)
	if err != nil {
		return notShareable("%s can't be written: %v", annotationPlace, err)
	}
	if annotations == nil {
		annotations = object{}
		metadata["annotations"] = annotations
	}
	annotations[v1alpha1.TrafficAnnotation] = string(value)
	size := 0
	for key, value := range annotations {
		size += len(key) + len(text(value))
	}
	if size > annotationsSize {
		return notShareable("the annotations of the route, with the matches of the step, would have more than %d bytes", annotationsSize)
	}
	return nil
}

// written returns an object with these holds.
func written(obj *unstructured.Unstructured, held holds) (*unstructured.Unstructured, *problem) {
	if bad := held.write(obj); bad != nil {
		return nil, bad
	}
	return obj, nil
}
