package kube

import (
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/sluice-dev/sluice/internal/plain"
)

// maxNote is how many bytes of text an event may have; one with more is refused.
const maxNote = 1024

// LogEvents is a recorder that also logs what it records: events are gone after an hour, logs are kept where people look
// for what a controller did. What webhooks, pods and people say becomes a line that fits.
func LogEvents(recorder events.EventRecorder, logger logr.Logger) events.EventRecorder {
	return &logged{recorder, logger}
}

type logged struct {
	events.EventRecorder

	logger logr.Logger
}

// Eventf logs and records an event.
func (l *logged) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) { //nolint:revive // the interface has it so
	note = plain.UpTo(plain.Line(fmt.Sprintf(note, args...)), maxNote)
	if object, err := meta.Accessor(regarding); err == nil {
		l.logger.Info(note, "reason", reason, "type", kind, "namespace", object.GetNamespace(), "name", object.GetName())
	}
	l.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", note)
}
