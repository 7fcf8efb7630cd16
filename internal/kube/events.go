package kube

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// maxNote is how many bytes of text an event may have; one with more is refused.
const maxNote = 1024

// LogEvents returns a recorder that also logs its events: events are gone after an hour, logs are
// kept where users look for the actions of a controller. Text of webhooks, pods and users becomes
// one line of limited length. Lines about a release name it, with its revision and commit; lines
// about a gate name who decided it.
func LogEvents(recorder events.EventRecorder, logger logr.Logger) events.EventRecorder {
	return &logged{recorder, logger}
}

// LogOnly logs what a recorder of LogEvents would log of an event, without recording it: it costs
// no request.
func LogOnly(recorder events.EventRecorder, regarding runtime.Object, reason, note string) {
	if around, is := recorder.(interface{ Unwrap() events.EventRecorder }); is {
		recorder = around.Unwrap()
	}
	if l, is := recorder.(*logged); is {
		l.log(regarding, nil, "Normal", reason, noted(note))
	}
}

type logged struct {
	events.EventRecorder

	logger logr.Logger
}

// Eventf logs and records an event.
func (l *logged) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) { //nolint:revive // the interface has it so
	note = noted(fmt.Sprintf(note, args...))
	l.log(regarding, related, kind, reason, note)
	l.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", note)
}

func noted(note string) string { return plain.UpTo(plain.Line(note), maxNote) }

func (l *logged) log(regarding, related runtime.Object, kind, reason, note string) {
	keys := []any{"reason", reason, "type", kind}
	for _, object := range []runtime.Object{regarding, related} {
		keys = append(keys, keysOf(object)...)
	}
	l.logger.Info(note, keys...)
}

// keysOf returns the keys that identify an object in a log.
func keysOf(object runtime.Object) []any {
	switch o := object.(type) {
	case nil:
		return nil
	case *v1alpha1.BatchRelease:
		return releaseKeys(o)
	case *v1alpha1.Gate:
		return []any{"gate", o.Name, "by", deciders(o)}
	case *v1alpha1.ReleaseSource:
		return []any{"source", o.Namespace + "/" + o.Name}
	}
	named, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return []any{"namespace", named.GetNamespace(), "name", named.GetName()}
}

// commitDigits are how many digits of a commit are logged.
const commitDigits = 8

// releaseKeys returns an empty list where nothing is released yet, or not from Git: each line has
// the same keys.
func releaseKeys(release *v1alpha1.BatchRelease) []any {
	status := &release.Status
	keys := []any{
		"release", release.Namespace + "/" + release.Name, "revision", status.UpdateRevision,
		"commit", plain.Line(status.Commit[:min(len(status.Commit), commitDigits)]),
	}
	if status.Rollback != nil {
		keys = append(keys, "trigger", status.Rollback.Trigger)
	}
	return keys
}

// mostDeciders are how many people a line names.
const mostDeciders = 5

// deciders returns who decided a gate by its evidence; or what decided it where no person did.
func deciders(gate *v1alpha1.Gate) string {
	var people, kinds []string
	for _, fact := range gate.Status.Evidence {
		switch {
		case fact.Actor == "" && !slices.Contains(kinds, fact.Kind):
			kinds = append(kinds, fact.Kind)
		case fact.Actor != "" && !slices.Contains(people, fact.Actor):
			people = append(people, fact.Actor)
		}
	}
	if len(people) == 0 {
		people = kinds
	}
	return plain.Line(strings.Join(people[:min(len(people), mostDeciders)], ","))
}
