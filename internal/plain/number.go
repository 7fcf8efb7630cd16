package plain

import (
	"math"
	"strconv"
)

// Number writes a number with so many significant digits, all digits before the point, and no
// exponent.
func Number(value float64, digits int) string {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(math.Abs(value)))))
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'f', decimals, 64), 64) // of what it wrote itself
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
