// Package giteatest starts Gitea for tests.
package giteatest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea"
)

// lastWords is how much of what the server has said a failed test shows.
const lastWords = 4000

// Start starts a Gitea that the test's end closes. The first one of a machine builds it, which
// takes a C compiler and minutes; without a compiler the test is skipped, except in CI.
func Start(t testing.TB) *devgitea.Server {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("CI") == "" {
		t.Skip("to build Gitea takes a C compiler")
	}
	programs, err := controlplane.GiteaBinaries(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	server, err := devgitea.Start(t.Context(), devgitea.Options{Dir: t.TempDir(), Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		if t.Failed() {
			said, _ := os.ReadFile(server.Log())
			t.Logf("Gitea said:\n%s", said[max(0, len(said)-lastWords):])
		}
	})
	return server
}
