package v1alpha1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Freeze is the value of FreezeAnnotation: why a release does not advance, and until when.
type Freeze struct {
	// Reason is a sentence for people.
	Reason string `json:"reason"`
	// Until is when it ends by itself; never if it is not set.
	Until *metav1.Time `json:"until,omitempty"`
	// Commit is the one whose files ask for it; empty if a person has set the annotation.
	Commit string `json:"commit,omitempty"`
}

// Frozen returns the freeze that is in force at a time, nil if there is none. One that can't be read
// is in force: somebody meant to stop the release.
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
