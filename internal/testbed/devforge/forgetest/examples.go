package forgetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

var loadExamples = sync.OnceValues(func() (map[string][]json.RawMessage, error) {
	data, err := examplesPackage.Read(context.Background())
	if err != nil {
		return nil, err
	}
	var events []struct {
		Name     string            `json:"name"`
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		return nil, fmt.Errorf("parse examples: %w", err)
	}
	byName := map[string][]json.RawMessage{}
	for _, event := range events {
		byName[event.Name] = event.Examples
	}
	return byName, nil
})

// Examples returns the payloads of an event, such as pull_request, that GitHub has sent and
// published.
func Examples(t testing.TB, event string) []json.RawMessage {
	t.Helper()
	byName, err := loadExamples()
	if err != nil {
		t.Fatal(err)
	}
	if len(byName[event]) == 0 {
		t.Fatalf("there are no examples of %s", event)
	}
	return byName[event]
}
