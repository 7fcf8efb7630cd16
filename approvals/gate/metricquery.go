package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/measure/condition"
)

const (
	// keptMeasurements is the number of measurements that a status keeps.
	keptMeasurements = 10
	// maxValue is the length of a value in a status.
	maxValue = 100
	// maxWhy is the length of the words of a condition that can't be evaluated: a key or a text that
	// CEL repeats is as long as the answer.
	maxWhy = 300
)

// QueryResult holds the outcome of one measurement of a query. It is small, however large the
// result is.
type QueryResult struct {
	Outcome v1alpha1.MeasurementOutcome
	// Value is the result for people, and Why says what its outcome does not.
	Value, Why string
}

// ResultOf evaluates the conditions of a metric on a result: a number, a list of numbers, or JSON.
func ResultOf(policy *v1alpha1.QueryMetric, result any) QueryResult {
	outcome, why := classify(policy, result)
	return QueryResult{outcome, valueOf(result), plain.UpTo(plain.Line(why), maxWhy)}
}

// countMeasurement counts a measurement of a query, and decides the metric by its limits.
func countMeasurement(status *v1alpha1.MetricStatus, check MetricCheck, reading MetricReading) {
	if status.Measured == nil {
		status.Measured = &v1alpha1.Measured{}
	}
	m, result := status.Measured, reading.Result
	if reading.Trouble != "" {
		result = QueryResult{Outcome: v1alpha1.MeasurementError, Why: reading.Message}
	}
	outcome := result.Outcome
	switch outcome {
	case v1alpha1.MeasurementSuccessful:
		m.Successful++
	case v1alpha1.MeasurementFailed:
		m.Failed++
	case v1alpha1.MeasurementInconclusive:
		m.Inconclusive++
	case v1alpha1.MeasurementError:
		m.Errors++
	}
	m.ErrorsInARow = next(m.ErrorsInARow, outcome == v1alpha1.MeasurementError)
	m.SuccessesInARow = next(m.SuccessesInARow, outcome == v1alpha1.MeasurementSuccessful)
	m.Last = append(m.Last, v1alpha1.Measurement{Time: metav1.NewTime(reading.At), Outcome: outcome, Value: result.Value})
	m.Last = slices.Clone(m.Last[max(0, len(m.Last)-keptMeasurements):])
	status.Outcome = outcomeOfCounts(check.Query, m)
	status.Message = wordsOfCounts(m, result.Value, result.Why)
}

func next(count int32, again bool) int32 {
	if again {
		return count + 1
	}
	return 0
}

// outcomeOfCounts decides a metric by its limits. A limit comes before the count.
func outcomeOfCounts(policy *v1alpha1.QueryMetric, m *v1alpha1.Measured) v1alpha1.MetricOutcome {
	exceeds := func(count int32, limit *int32) bool {
		most := ptr.Deref(limit, 0)
		return most >= 0 && count > most
	}
	wanted := ptr.Deref(policy.Count, 1)
	if policy.Count == nil && policy.Successes != nil {
		wanted = 0
	}
	enough := wanted > 0 && m.Successful+m.Failed+m.Inconclusive >= wanted
	switch {
	case exceeds(m.Failed, policy.FailureLimit):
		return v1alpha1.MetricFailed
	case exceeds(m.Inconclusive, policy.InconclusiveLimit),
		policy.ErrorLimit != nil && m.ErrorsInARow > *policy.ErrorLimit:
		return v1alpha1.MetricUndecided
	case policy.Successes != nil && m.SuccessesInARow >= *policy.Successes, enough && policy.Successes == nil:
		return v1alpha1.MetricPassed
	case enough:
		return v1alpha1.MetricUndecided
	}
	return ""
}

// classify returns what a measurement is, and why where its conditions do not say.
func classify(policy *v1alpha1.QueryMetric, result any) (v1alpha1.MeasurementOutcome, string) {
	if isEmpty(result) {
		switch policy.Empty {
		case v1alpha1.EmptySuccessful:
			return v1alpha1.MeasurementSuccessful, "no value"
		case v1alpha1.EmptyFailed:
			return v1alpha1.MeasurementFailed, "no value"
		case v1alpha1.EmptyMeasured:
		case v1alpha1.EmptyInconclusive, "":
			return v1alpha1.MeasurementInconclusive, "no value"
		}
	}
	failed, err := holds(policy.Failure, result)
	if err != nil {
		return v1alpha1.MeasurementError, "failure: " + err.Error()
	}
	successful, err := holds(policy.Success, result)
	switch {
	case err != nil:
		return v1alpha1.MeasurementError, "success: " + err.Error()
	case failed:
		return v1alpha1.MeasurementFailed, ""
	case successful, policy.Success == "":
		return v1alpha1.MeasurementSuccessful, ""
	case policy.Failure == "":
		return v1alpha1.MeasurementFailed, ""
	}
	return v1alpha1.MeasurementInconclusive, ""
}

func holds(text string, result any) (bool, error) {
	if text == "" {
		return false, nil
	}
	c, err := condition.Compile(text)
	if err != nil {
		return false, err
	}
	return c.Holds(result)
}

// isEmpty reports whether a result has no value: no series, or nothing but NaN.
func isEmpty(result any) bool {
	switch result := result.(type) {
	case nil:
		return true
	case float64:
		return math.IsNaN(result)
	case []float64:
		return !slices.ContainsFunc(result, func(v float64) bool { return !math.IsNaN(v) })
	}
	return false
}

// valueOf writes a result for people.
func valueOf(result any) string {
	switch result := result.(type) {
	case float64:
		return number(result)
	case []float64:
		values := make([]string, min(len(result), keptMeasurements))
		for i := range values {
			values[i] = number(result[i])
		}
		return plain.UpTo("["+strings.Join(values, ", ")+"]", maxValue)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return ""
	}
	return plain.UpTo(plain.Line(string(text)), maxValue)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// wordsOfCounts says in a line how the measurements of a query stand.
func wordsOfCounts(m *v1alpha1.Measured, value, why string) string {
	words := fmt.Sprintf("%d successful, %d failed, %d inconclusive", m.Successful, m.Failed, m.Inconclusive)
	if value != "" {
		words += ", last " + value
	}
	if why != "" {
		words += ": " + why
	}
	return words
}
