package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/telemetry/notices"
)

// all returns the notices that came.
func (r *receiver) all() []arrived {
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]arrived{}, r.got...)
}

// page collects the writes of several goroutines.
type page struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(line []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.text.Write(line)
}

func (p *page) String() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.text.String()
}

// TestNoticesKeepSecrets: the address of a receiver is in no log, metric, event or record, whatever
// goes wrong with it; and what a commit says does nothing in Slack.
func TestNoticesKeepSecrets(t *testing.T) {
	t.Parallel()
	c, namespace := newClient(t), cptest.Namespace(t)
	chat, away := newReceiver(t), newReceiver(t)
	away.away.Store(true)
	options := noticesTo(t, namespace, away)
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(options.NoticesConfig, []byte(text), 0o600); err != nil {
			t.Fatalf("write configuration: %v", err)
		}
	}
	receivers := fmt.Sprintf("receivers:\n- {name: chat, type: slack, url: %q}\n- {name: away, type: slack, url: %q}\n"+
		"- {name: nowhere, type: slack, url: 'http://127.0.0.1:1/very-secret'}\n", chat.url, away.url)
	configure(receivers)
	log := &page{}
	options.Logger = logr.FromSlogHandler(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 10}))
	mgr, err := app.New(cptest.Config(t), options)
	if err != nil {
		t.Fatalf("make controller: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() { cancel(); <-ended }()

	awaitRecord(t, c, namespace)
	release := newRelease(t, namespace)
	release.Annotations = map[string]string{
		v1alpha1.CommitAnnotation:  "0123456789abcdef0123456789abcdef01234567",
		v1alpha1.SubjectAnnotation: "<!channel> see <https://evil.example|this>",
	}
	create(t, c, newDeployment(namespace), release)
	cptest.Eventually(t, soon, func() error {
		texts := ""
		for _, one := range chat.all() {
			texts += one.Text
		}
		if !strings.Contains(texts, "waits for approval") || !strings.Contains(log.String(), "not delivered, trying again") {
			return fmt.Errorf("want the release to wait, and receivers that are away in the log, got %q", texts)
		}
		return nil
	})
	for _, one := range chat.all() {
		if body := one.raw; strings.Contains(body, "<!") || strings.Contains(body, "<https") || !strings.Contains(body, "&lt;!channel&gt; see") {
			t.Errorf("want the subject as text, got %s", body)
		}
	}
	configure(receivers + "  very-secret: x\n")
	cptest.Eventually(t, soon, func() error {
		if !strings.Contains(log.String(), "The configuration of notices is invalid: ") {
			return errors.New("want the invalid configuration in the log")
		}
		return nil
	})
	for where, text := range map[string]string{
		"log": log.String(), "metrics": metricsText(t), "events": eventsText(t, c, namespace), "record": recordText(t, c, namespace),
	} {
		if strings.Contains(text, "very-secret") || text == "" {
			t.Errorf("want the %s without the address, got %.2000s", where, text)
		}
	}
}

func metricsText(t *testing.T) string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatalf("gather metrics: %v", err)
	}
	return fmt.Sprint(families)
}

func eventsText(t *testing.T, c client.Client, namespace string) string {
	t.Helper()
	var events corev1.EventList
	if err := c.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Fatalf("list events: %v", err)
	}
	text, _ := json.Marshal(events)
	return string(text)
}

func recordText(t *testing.T, c client.Client, namespace string) string {
	t.Helper()
	var record corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: notices.RecordName}, &record); err != nil {
		t.Fatalf("read record: %v", err)
	}
	text := fmt.Sprint(record.ObjectMeta, record.Data)
	for _, packed := range record.BinaryData {
		zipped, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("unpack record: %v", err)
		}
		inner, _ := io.ReadAll(zipped)
		text += string(inner)
	}
	return text
}
