package proof_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/proof"
)

// BenchmarkCheck checks a pod of two containers whose release has passed three gates.
func BenchmarkCheck(b *testing.B) {
	k := newKeys(b, rand.NewChaCha8([32]byte{4}))
	w := newWorld(b, k, template(2), approvals(2), soak(10*time.Minute), status())
	for b.Loop() {
		if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != proof.Proven {
			b.Fatalf("want it proven, got %+v", verdict)
		}
	}
}
