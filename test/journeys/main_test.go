package journeys

import (
	"flag"
	"runtime/debug"
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

// gcPercent lets the heap grow: the journeys keep some 100 MB, and would spend a sixth of their
// time on collecting garbage.
const gcPercent = 400

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	flag.Parse()
	debug.SetGCPercent(gcPercent)
	if err := flag.Set("test.parallel", journeysAtOnce); err != nil {
		panic(err)
	}
	log.SetLogger(logr.Discard()) // each controller has a log of its own
	cptest.Main(m)
}
