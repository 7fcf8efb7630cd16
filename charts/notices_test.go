package charts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestNoticesAreComponent: with notices, the chart renders what the component of kustomize makes.
func TestNoticesAreComponent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	relative := func(path string) string {
		t.Helper()
		there, err := controlplane.InCheckout(path)
		if err != nil {
			t.Fatal(err)
		}
		path, err = filepath.Rel(folder, there)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := fmt.Sprintf("resources: [%q]\ncomponents: [%q]\n", relative("config"), relative("config/components/notices"))
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := comparable(cptest.Decode(t, cptest.Kubectl(t, "kustomize", folder)))
	got := comparable(cptest.Decode(t, template(t, "sluice-system", "--set=notices.enabled=true")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
}
