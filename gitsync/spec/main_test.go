package spec

import (
	"os"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main(Build)
	os.Exit(m.Run())
}

// builds are the processes of all tests of this package.
var builds = sandbox.NewPool(sandbox.Options{})
