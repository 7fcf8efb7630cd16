package forgetest

import (
	"log/slog"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// Start starts a forge that the test's end closes. At the end the test fails for every answer and
// every webhook that is not as GitHub describes it. Dir, Logger and Middleware are set here.
func Start(t testing.TB, opts devforge.Options) *devforge.Forge {
	t.Helper()
	checker, err := NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	opts.Dir, opts.Middleware = t.TempDir(), checker.Middleware
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	forge, err := devforge.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := forge.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, sent := range forge.Deliveries() {
			checker.note(checker.CheckWebhook(sent.Event, sent.Action, sent.Payload))
		}
		for _, breach := range checker.Breaches() {
			t.Errorf("not as GitHub describes it: %s", breach)
		}
	})
	return forge
}
