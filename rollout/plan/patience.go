package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/rollout/traffic"
)

// maxPatience bounds for how long the status of routes is waited for in the end and on the way back. A process that starts begins to count
// again, so that it must not be long; and Gateways of clouds take minutes.
const maxPatience = 5 * time.Minute

// patience is shorter than the progress deadline: a rollback goes on without a Gateway that does not tell, and does not fail.
func (l *look) patience() time.Duration {
	return min(l.progressDeadline()/2, maxPatience)
}

// deleted reports whether the release is being deleted.
func (l *look) deleted() bool { return l.Release.DeletionTimestamp != nil }

// toldGivenUp reports whether people know that what is next rests on no word of some Gateways.
func (l *look) toldGivenUp() bool {
	told := l.Release.Status.Traffic
	return told != nil && told.GaveUp
}

// noteGivenUp tells them once.
func noteGivenUp(d Decision, st traffic.Standing) Decision {
	if !st.GaveUp || d.toldGivenUp() {
		return d
	}
	return d.tell(gaveUp{pending(st), d.patience()})
}

// mostPending is how many a status names.
const mostPending = 8

// pending are those whose word is missing, as the status names them.
func pending(st traffic.Standing) []string {
	var names []string
	for _, name := range st.Pending[:min(len(st.Pending), mostPending)] {
		names = append(names, bounded(name))
	}
	return names
}

// sameDeadline is by how much the clock that counts may differ from the one that tells: the status is not written for that.
const sameDeadline = 5 * time.Second

// acceptDeadline is until when they are waited for; nil if it is not bounded, or over.
func (l *look) acceptDeadline(st traffic.Standing) *metav1.Time {
	if st.GivesUp == 0 {
		return nil
	}
	at := metav1.NewTime(l.Now.Add(st.GivesUp).UTC().Truncate(time.Second))
	if told := l.Release.Status.Traffic; told != nil && told.AcceptDeadline != nil && told.AcceptDeadline.Sub(at.Time).Abs() <= sameDeadline {
		return told.AcceptDeadline
	}
	return &at
}
