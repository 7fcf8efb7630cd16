package lint_test

import (
	"os"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	os.Exit(m.Run())
}
