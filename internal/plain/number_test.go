package plain

import (
	"math"
	"testing"
)

// TestNumber: a number has so many significant digits, and no exponent.
func TestNumber(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 100: "100", 12345.6: "12346", 5.04: "5", 0.5234: "0.52", 0.00012345: "0.00012", 99.96: "100", -0.0251: "-0.025", math.Inf(1): "+Inf", 1e-9: "0.000000001",
	} {
		if got := Number(value, 2); got != want {
			t.Errorf("%v: got %s, want %s", value, got, want)
		}
	}
}
