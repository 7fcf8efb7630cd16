package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// dropped says that the API server does not keep all of the template that is given; nil if it does.
func (t *telling) dropped() *Event {
	resolved := t.record.Resolved
	if resolved == nil || len(resolved.Dropped) == 0 || resolved.Given != t.Given {
		return nil
	}
	return &Event{Warning: true, Reason: v1alpha1.ReasonFieldsDropped, Message: bounded(fmt.Sprintf(
		"the API server drops %s: a feature is not enabled, or admission removes it, and pods run without; take it out of the template, or enable the feature",
		strings.Join(resolved.Dropped, ", ")))}
}

// droppedBegins reports whether these fields were not dropped before.
func (t *telling) droppedBegins() bool {
	was := t.before.Resolved
	return was == nil || !slices.Equal(was.Dropped, t.record.Resolved.Dropped)
}
