package v1alpha1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Freeze is the value of FreezeAnnotation: the reason of a freeze, and its end.
type Freeze struct {
	// Reason is a human readable sentence.
	Reason string `json:"reason"`
	// Until is the time at which the freeze ends by itself; unset if it does not.
	Until *metav1.Time `json:"until,omitempty"`
	// Commit is the commit whose files request the freeze; empty if a user set the annotation.
	Commit string `json:"commit,omitempty"`
}

// Frozen returns the freeze in force at a time, nil if there is none. An unreadable freeze is in
// force: its purpose was to stop the release.
func (r *BatchRelease) Frozen(now time.Time) *Freeze {
	text, found := r.Annotations[FreezeAnnotation]
	if !found {
		return nil
	}
	var freeze Freeze
	if err := json.Unmarshal([]byte(text), &freeze); err != nil {
		return &Freeze{Reason: "the annotation " + FreezeAnnotation + " can't be read: " + err.Error() +
			`; write it as {"reason":"quarter end","until":"2027-01-04T08:00:00Z"}, or take it away`}
	}
	if freeze.Until != nil && !now.Before(freeze.Until.Time) {
		return nil
	}
	return &freeze
}
