package show

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
)

// Events returns the events of a release and what belongs to it, the oldest first.
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

// concerns reports whether something is of the release. Pods that are gone are known by the names
// of their ReplicaSets, or by that of their StatefulSet or DaemonSet and the kind of what follows
// it.
func (w *Whole) concerns(ref *corev1.ObjectReference) bool {
	switch {
	case kinds.Named(ref.Kind) != nil:
		return isSame(ref, w.Workload)
	case ref.Kind == "BatchRelease":
		return ref.UID == w.Release.UID
	case ref.Kind == "Gate":
		return slices.ContainsFunc(w.Gates, func(g v1alpha1.Gate) bool { return ref.UID == g.UID })
	case ref.Kind == "Pod":
		return w.hasPod(ref)
	}
	return ref.Kind == "ReplicaSet" && slices.ContainsFunc(w.Sets, func(set appsv1.ReplicaSet) bool { return ref.UID == set.UID })
}

// hasPod reports whether a pod, which may be gone, is of the workload.
func (w *Whole) hasPod(ref *corev1.ObjectReference) bool {
	switch o := w.Workload.(type) {
	case *appsv1.StatefulSet:
		return ordinalName(o.Name).MatchString(ref.Name)
	case *appsv1.DaemonSet:
		return generatedName(o.Name).MatchString(ref.Name)
	}
	return slices.ContainsFunc(w.Sets, func(set appsv1.ReplicaSet) bool { return strings.HasPrefix(ref.Name, set.Name+"-") })
}

// ordinalName returns what the pods of a StatefulSet are called.
func ordinalName(set string) *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(set) + `-\d+$`)
}

// generatedName returns what the pods of a DaemonSet are called: the API server adds five letters
// and digits.
func generatedName(set string) *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(set) + `-[a-z0-9]{5}$`)
}

// lastSeen returns when an event happened last. Which field says so depends on who wrote it.
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
