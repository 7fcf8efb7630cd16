package show

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Events are the events of a release and what belongs to it, the oldest first.
func Events(w *Whole, events []corev1.Event, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Last seen"), column("Type"), column("Reason"), column("Object"), column("Message"),
	}}
	ofRelease := slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool { return !w.concerns(&e.InvolvedObject) })
	slices.SortStableFunc(ofRelease, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(&a).Time.Compare(lastSeen(&b).Time), earlier(&a, &b), strings.Compare(a.Name, b.Name))
	})
	for i := range ofRelease {
		e := &ofRelease[i]
		table.Rows = append(table.Rows, row(since(lastSeen(e), now), e.Type, e.Reason,
			strings.ToLower(e.InvolvedObject.Kind)+"/"+e.InvolvedObject.Name, e.Message))
	}
	return table
}

// earlier orders events of the same second by their versions, where these can be compared.
func earlier(a, b *corev1.Event) int {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return 0
	}
	return order
}

// concerns reports whether something is of the release. Pods that are gone are known by the names of their ReplicaSets.
func (w *Whole) concerns(ref *corev1.ObjectReference) bool {
	switch ref.Kind {
	case "BatchRelease":
		return ref.UID == w.Release.UID
	case "Gate":
		return slices.ContainsFunc(w.Gates, func(g v1alpha1.Gate) bool { return ref.UID == g.UID })
	case "Deployment":
		return w.Deployment != nil && ref.UID == w.Deployment.UID
	}
	for i := range w.Sets {
		set := &w.Sets[i]
		if ref.Kind == "ReplicaSet" && ref.UID == set.UID || ref.Kind == "Pod" && strings.HasPrefix(ref.Name, set.Name+"-") {
			return true
		}
	}
	return false
}

// lastSeen is when an event happened last. Which field says so depends on who wrote it.
func lastSeen(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	default:
		return e.CreationTimestamp
	}
}
