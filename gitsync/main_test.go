package gitsync_test

import (
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	cptest.Main(m)
}
