package notices

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluice-dev/sluice/telemetry/notices"
)

// Two keys: while receivers change from one to the other, each of them knows one of the two.
const (
	newKey = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	oldKey = "whsec_YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
)

// TestReceiversUnderstand: the libraries of CloudEvents and Standard Webhooks read and verify
// notices, by either key, and the data follows the published schema.
func TestReceiversUnderstand(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("../../schemas/notice_v1.json")
	if err != nil {
		t.Fatalf("read schema: %v", err)
	}
	types := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := understand(r, schema)
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		types[event.Type()] = true
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "notices.yaml")
	text := fmt.Sprintf("receivers: [{name: a, type: cloudevents, url: %q, signing: {keys: [%q, %q]}}]", server.URL, newKey, oldKey)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	config, err := notices.Load(path)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	for _, kind := range notices.Kinds() {
		tried, err := config.Try(t.Context(), "", kind, time.Now())
		if err != nil || len(tried) != 1 || tried[0].Problem != "" {
			t.Errorf("%s: got %v, %v", kind, tried, err)
		}
	}
	if len(types) != len(notices.Kinds()) {
		t.Errorf("want a type for each of %d kinds, got %v", len(notices.Kinds()), types)
	}
}

// understand reads an event as a receiver does.
func understand(r *http.Request, schema *jsonschema.Schema) (*cloudevents.Event, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	for _, key := range []string{newKey, oldKey} {
		checks, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			return nil, fmt.Errorf("read key: %w", err)
		}
		if err := checks.Verify(body, r.Header); err != nil {
			return nil, fmt.Errorf("check signature: %w", err)
		}
		if checks.Verify(append(bytes.Clone(body), ' '), r.Header) == nil {
			return nil, fmt.Errorf("the signature is not of the body")
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	event, err := cloudevents.NewEventFromHTTPRequest(r)
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if err := event.Validate(); err != nil {
		return nil, fmt.Errorf("validate event: %w", err)
	}
	data, err := jsonschema.UnmarshalJSON(bytes.NewReader(event.Data()))
	if err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	if err := schema.Validate(data); err != nil {
		return nil, fmt.Errorf("data of %s: %w", event.Type(), err)
	}
	if event.ID() != r.Header.Get("Webhook-Id") || !strings.HasSuffix(event.DataSchema(), "/schemas/notice_v1.json") {
		return nil, fmt.Errorf("want one ID and the schema, got %s", event)
	}
	return event, nil
}
