package order

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Pod holds the facts that order a pod, which is not being deleted.
type Pod struct {
	Name string
	UID  types.UID
	// Set is the UID of the ReplicaSet that controls it.
	Set  types.UID
	Node string
	// NodeLabels are labels of its node, at least those that the order names.
	NodeLabels map[string]string
	Stage      Stage
	Created    time.Time
	// Priority is its delete-priority annotation, and Cost its deletion cost as it stands there.
	Priority, Cost string
	// Mark is there if the cost is ours.
	Mark *Mark
	// Pause says that it has a pause point.
	Pause bool
}

// Stage is the rank that the ReplicaSet controller compares before any cost: it deletes pods of an
// earlier stage first.
type Stage int

// The stages.
const (
	Unassigned Stage = iota
	Pending
	Unknown
	NotReady
	Ready
)

// Sort returns the pods in the order in which they are to go by keys, ready or not.
func Sort(pods []Pod, keys []v1alpha1.OrderKey) []Pod {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b Pod) int {
		for _, key := range keys {
			if c := compare(&a, &b, key); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(a.own(), b.own()), b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// Going returns sorted pods in the order in which they go: by stage first.
func Going(sorted []Pod) []Pod {
	going := slices.Clone(sorted)
	slices.SortStableFunc(going, func(a, b Pod) int { return cmp.Compare(a.Stage, b.Stage) })
	return going
}

func compare(a, b *Pod, key v1alpha1.OrderKey) int {
	switch {
	case key.NodeLabel != nil:
		return compareLabels(a.NodeLabels, b.NodeLabels, key.NodeLabel)
	case key.DeletePriority != nil:
		return cmp.Compare(priority(b.Priority), priority(a.Priority))
	case key.Age == v1alpha1.OldestFirst:
		return a.Created.Compare(b.Created)
	case key.Age == v1alpha1.NewestFirst:
		return b.Created.Compare(a.Created)
	case key.Name == v1alpha1.Ascending:
		return cmp.Compare(a.Name, b.Name)
	case key.Name == v1alpha1.Descending:
		return cmp.Compare(b.Name, a.Name)
	default:
		return 0
	}
}

// compareLabels puts the named values first, then the others by value, then nodes without the
// label.
func compareLabels(a, b map[string]string, by *v1alpha1.NodeLabelOrder) int {
	valueA, foundA := a[by.Key]
	valueB, foundB := b[by.Key]
	return cmp.Or(
		cmp.Compare(place(valueA, foundA, by.Values), place(valueB, foundB, by.Values)),
		cmp.Compare(valueA, valueB),
	)
}

func place(value string, found bool, values []string) int {
	i := slices.Index(values, value)
	switch {
	case !found:
		return len(values) + 1
	case i < 0:
		return len(values)
	default:
		return i
	}
}

// priority reads a delete-priority; anything but a number is none.
func priority(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
