package dashboard

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) { cptest.Main(m) }
