// Package strategy reads update strategies as the annotation of a held workload has them.
package strategy

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Encode returns a strategy as JSON. It can't fail: strategies have nothing that JSON can't hold.
func Encode(strategy any) string {
	data, _ := json.Marshal(strategy)
	return string(data)
}

// Decode returns the strategy that Encode wrote, or the default where the text can't be read, or is
// a strategy that no API server takes: anyone who may write a workload may write its annotation,
// and the workload could not be handed back with it. The check has the rules of
// pkg/apis/apps/validation of Kubernetes.
func Decode[T any](text string, takes func(T) bool, byDefault T) T {
	var strategy T
	if err := json.Unmarshal([]byte(text), &strategy); err != nil || !takes(strategy) {
		return byDefault
	}
	return strategy
}

// Noted returns what a followed workload had before a policy kept its native controller from
// rolling a template out, as the policy notes it; empty if none did, or a release holds it.
func Noted(w metav1.Object) string {
	if annotations := w.GetAnnotations(); annotations[v1alpha1.HoldAnnotation] == "" {
		return annotations[v1alpha1.WaitingAnnotation]
	}
	return ""
}

// IsCount reports whether a limit is a number of pods, or a percentage; nil is the default.
func IsCount(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return ok && n >= 0
}

// IsShare reports whether a limit is a number of pods, or a percentage of at most 100%; nil is the
// default.
func IsShare(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return ok && n >= 0 && (limit == nil || limit.Type == intstr.Int || n <= hundred)
}

// IsNone reports whether a limit is no pods, however many there are.
func IsNone(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return limit != nil && ok && n == 0
}

const hundred = 100

// scaled returns a limit of a hundred pods.
func scaled(limit *intstr.IntOrString) (n int, ok bool) {
	if limit == nil {
		return 0, true
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, hundred, true)
	return n, err == nil
}
