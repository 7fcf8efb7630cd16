package journeys

import (
	"flag"
	"testing"

	"github.com/sluice-dev/sluice/internal/controlplane/cptest"
)

// journeysAtOnce is how many journeys are under way at a time: each spends its time waiting
// for the control plane, not computing.
const journeysAtOnce = "16"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", journeysAtOnce); err != nil {
		panic(err)
	}
	cptest.Main(m)
}
