package gitsync_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	if namespaces := os.Getenv(controllerEnv); namespaces != "" {
		os.Exit(runController(strings.Split(namespaces, ",")))
	}
	cptest.Main(m)
}
