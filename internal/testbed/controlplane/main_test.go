package controlplane_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// parentEnv has this test binary be a process that starts a control plane and never stops it.
const parentEnv = "SLUICE_TEST_CONTROLPLANE_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		beParent()
	}
	cptest.Main(m)
}

// beParent starts a control plane, tells the ids of its processes and waits to be killed.
func beParent() {
	cp, err := controlplane.Start(context.Background(), controlplane.Options{Dir: os.Getenv(parentEnv), Progress: os.Stderr})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(cp.Processes()); err != nil {
		panic(err)
	}
	select {}
}
