package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// undone returns the version that was rolled back and has the most pods while another version is released, and how many; empty if none
// has any. What comes to fix it may wait at its gates for long.
func (l *look) undone() (revision string, pods int32) {
	if l.Workload == nil || !l.underWay() || !l.held() || l.isRollback() {
		return "", 0
	}
	for i := range l.Kept {
		k := &l.Kept[i]
		if k.stable() || k.Revision == l.record.UpdateRevision || k.Revision == l.stableRevision() {
			continue
		}
		if n := l.Workload.Mover.Runs(k.Revision); n > pods {
			revision, pods = k.Revision, n
		}
	}
	return revision, pods
}

// undoneServes says that pods of a version that was rolled back are left; nil if none are.
func (l *look) undoneServes() *Event {
	revision, n := l.undone()
	if n == 0 {
		return nil
	}
	return &Event{Warning: true, Reason: v1alpha1.ReasonRolledBackPods, Message: bounded(fmt.Sprintf(
		"%d of %d pods run revision %s, which was rolled back; they go before others as revision %s is released; to be rid of them first: sluice rollback %s -n %s",
		n, l.Workload.Replicas, revision, l.record.UpdateRevision, l.Release.Name, l.Release.Namespace))}
}

// undoneBegins reports whether people don't know yet that such pods are left.
func (t *telling) undoneBegins() bool {
	return meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionRolledBackServes) == nil
}
