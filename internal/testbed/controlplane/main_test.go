package controlplane_test

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) { cptest.Main(m) }
