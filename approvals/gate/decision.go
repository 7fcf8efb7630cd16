package gate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// waiting keeps a gate closed. The message must be the same at each look while the same thing
// is waited for, or the gate would be written over and over.
func waiting(message string, wakeUp time.Time) Decision {
	return Decision{
		Status: v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: message},
		WakeUp: wakeUp,
	}
}

// passed opens a gate for good.
func passed(message string, fact v1alpha1.Evidence, now time.Time) Decision {
	return Decision{Status: v1alpha1.GateStatus{
		Decision:  v1alpha1.DecisionPassed,
		Message:   message,
		Evidence:  []v1alpha1.Evidence{fact},
		DecidedAt: new(metav1.NewTime(now)),
	}}
}

func evidence(kind, detail string, at time.Time) v1alpha1.Evidence {
	return v1alpha1.Evidence{Kind: kind, Detail: detail, Time: new(metav1.NewTime(at))}
}
