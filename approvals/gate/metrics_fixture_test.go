package gate_test

import (
	"math"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var nan, inf = math.NaN(), math.Inf(1)

// fail marks a measurement that can't be taken.
const fail = "fails"

func count(n int32) func(*v1alpha1.QueryMetric) {
	return func(q *v1alpha1.QueryMetric) { q.Count = &n }
}
func failures(n int32) func(*v1alpha1.QueryMetric) {
	return func(q *v1alpha1.QueryMetric) { q.FailureLimit = &n }
}
func row(n int32) func(*v1alpha1.QueryMetric) {
	return func(q *v1alpha1.QueryMetric) { q.Successes = &n }
}
