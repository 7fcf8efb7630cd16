package gate

import "github.com/sluice-dev/sluice/api/v1alpha1"

// Awaited reports whether release waits for exactly g.
func Awaited(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool { return awaited(g, release) }
