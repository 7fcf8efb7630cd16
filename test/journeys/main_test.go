package journeys

import (
	"flag"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// journeysAtOnce is how many journeys run at a time: each spends its time waiting
// for the control plane, not computing.
const journeysAtOnce = "16"

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	flag.Parse()
	if err := flag.Set("test.parallel", journeysAtOnce); err != nil {
		panic(err)
	}
	log.SetLogger(logr.Discard()) // each controller has a log of its own
	cptest.Main(m)
}
