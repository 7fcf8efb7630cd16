package route

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// The most bytes of a message, and of somebody's words in it.
const (
	messageLength = 512
	quotedLength  = 64
	parentLength  = 128
)

// problem holds the reason why a route can't be shared. Its object is filled in where it leaves the
// package.
type problem struct {
	kind    v1alpha1.TrafficProblemType
	message string
}

func problemf(kind v1alpha1.TrafficProblemType, format string, args ...any) *problem {
	return &problem{kind, plain.UpTo(plain.Line(fmt.Sprintf(format, args...)), messageLength)}
}

func notShareable(format string, args ...any) *problem {
	return problemf(v1alpha1.TrafficNotShareable, format, args...)
}

// of returns the problem as that of an object; nil if there is none.
func (p *problem) of(kind v1alpha1.TrafficRouteKind, obj *unstructured.Unstructured) *v1alpha1.TrafficProblem {
	if p == nil {
		return nil
	}
	metadata := metadataOf(obj)
	name := plain.UpTo(plain.Line(text(metadata["namespace"])+"/"+text(metadata["name"])), serviceNameLength+1+ingressNameLength)
	return &v1alpha1.TrafficProblem{Type: p.kind, Object: string(kind) + " " + name, Message: p.message}
}

// quoted returns somebody's value in a message.
func quoted(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "of an unknown type"
	}
	return plain.UpTo(plain.Line(string(data)), quotedLength)
}
