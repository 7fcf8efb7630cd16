package order

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// pod returns one that serves on a node of a zone.
func pod(name, zone string, change ...func(*Pod)) Pod {
	p := Pod{Name: name, Stage: Ready, Created: noon}
	if zone != "" {
		p.NodeLabels = map[string]string{"zone": zone}
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func priorityOf(text string) func(*Pod) { return func(p *Pod) { p.Priority = text } }
func costOf(text string) func(*Pod)     { return func(p *Pod) { p.Cost = text } }
func at(stage Stage) func(*Pod)         { return func(p *Pod) { p.Stage = stage } }

func older(by time.Duration) func(*Pod) { return func(p *Pod) { p.Created = noon.Add(-by) } }

var (
	byPriority = v1alpha1.OrderKey{DeletePriority: &v1alpha1.DeletePriorityOrder{}}
	byZone     = v1alpha1.OrderKey{NodeLabel: &v1alpha1.NodeLabelOrder{Key: "zone", Values: []string{"c", "a"}}}
)

func TestSort(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		keys   []v1alpha1.OrderKey
		pods   []Pod
		want   []string
	}{
		"no keys": {
			reason: "as the ReplicaSet controller has it: by cost, the newest first; then by name",
			pods:   []Pod{pod("d", "", older(time.Hour)), pod("b", ""), pod("a", ""), pod("e", "", costOf("5")), pod("c", "", costOf("-1"))},
			want:   []string{"c", "a", "b", "d", "e"},
		},
		"node label": {
			reason: "named values first, then the others by value, then nodes without the label",
			keys:   []v1alpha1.OrderKey{byZone},
			pods:   []Pod{pod("1", ""), pod("2", "d"), pod("3", "b"), pod("4", "a"), pod("5", "c")},
			want:   []string{"5", "4", "3", "2", "1"},
		},
		"delete priority": {
			reason: "the larger first; none, and what is no number, counts as 0",
			keys:   []v1alpha1.OrderKey{byPriority},
			pods:   []Pod{pod("a", "", priorityOf("-1")), pod("b", "", priorityOf("soon")), pod("c", ""), pod("d", "", priorityOf("7")), pod("e", "", priorityOf("10"))},
			want:   []string{"e", "d", "b", "c", "a"},
		},
		"oldest first": {
			reason: "age counts before name",
			keys:   []v1alpha1.OrderKey{{Age: v1alpha1.OldestFirst}},
			pods:   []Pod{pod("a", ""), pod("b", "", older(time.Minute)), pod("c", "", older(time.Hour))},
			want:   []string{"c", "b", "a"},
		},
		"descending names": {
			reason: "names count backwards",
			keys:   []v1alpha1.OrderKey{{Name: v1alpha1.Descending}},
			pods:   []Pod{pod("a", ""), pod("c", ""), pod("b", "")},
			want:   []string{"c", "b", "a"},
		},
		"two keys": {
			reason: "the first key counts most",
			keys:   []v1alpha1.OrderKey{byZone, byPriority},
			pods:   []Pod{pod("1", "a", priorityOf("9")), pod("2", "c"), pod("3", "c", priorityOf("1"))},
			want:   []string{"3", "2", "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(test.want, namesOf(Sort(test.pods, test.keys))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestGoing(t *testing.T) {
	pods := []Pod{pod("a", ""), pod("b", "", at(NotReady)), pod("c", "", at(Unassigned)), pod("d", "")}
	if diff := gocmp.Diff([]string{"c", "b", "a", "d"}, namesOf(Going(pods))); diff != "" {
		t.Errorf("pods that are not ready go first, whatever their cost (-want +got):\n%s", diff)
	}
}

func TestParseCost(t *testing.T) {
	for text, want := range map[string]int32{
		"": 0, "0": 0, "5": 5, "-5": -5, "+5": 0, "05": 0, "five": 0, "2147483648": 0, "-2147483648": math.MinInt32,
	} {
		if got := parseCost(text); got != want {
			t.Errorf("parseCost(%q) = %d, want %d as in Kubernetes", text, got, want)
		}
	}
}

// cluster is a ReplicaSet controller that sees pods late, and the pods as they are.
type cluster struct {
	pods []Pod
	// writes are all written costs, in their order; it has seen the ones before caughtUp.
	writes   []write
	caughtUp int
}

type write struct{ pod, cost string }

func namesOf(pods []Pod) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

func (c *cluster) write(changes []Change) {
	for _, change := range changes {
		i := slices.IndexFunc(c.pods, func(p Pod) bool { return p.Name == change.Pod.Name })
		c.pods[i].Cost, c.pods[i].Mark = change.Text(), change.Mark
		c.writes = append(c.writes, write{change.Pod.Name, change.Text()})
	}
}

// catchUp has the controller see all that was written.
func (c *cluster) catchUp() { c.caughtUp = len(c.writes) }

// seen returns the cost that the controller goes by.
func (c *cluster) seen(p Pod) int32 {
	for _, w := range slices.Backward(c.writes[:c.caughtUp]) {
		if w.pod == p.Name {
			return parseCost(w.cost)
		}
	}
	return p.own()
}

// shrink takes n pods away as the ReplicaSet controller does, by what it has seen, and returns
// them. Among pods that it holds equal chance decides.
func (c *cluster) shrink(n int, chance *rapid.T) []string {
	var going []Pod
	for _, i := range rapid.Permutation(indexes(c.pods)).Draw(chance, "equal") {
		going = append(going, c.pods[i])
	}
	slices.SortStableFunc(going, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(c.seen(a), c.seen(b)))
	})
	gone := namesOf(going[:n])
	c.pods = slices.DeleteFunc(c.pods, func(p Pod) bool { return slices.Contains(gone, p.Name) })
	return gone
}

func indexes(pods []Pod) []int {
	all := make([]int, len(pods))
	for i := range all {
		all[i] = i
	}
	return all
}

// drawPods returns a few pods of any kind, of which many are alike.
func drawPods(t *rapid.T) []Pod {
	n := rapid.IntRange(1, 8).Draw(t, "pods")
	var pods []Pod
	for i := range n {
		p := pod(fmt.Sprintf("pod-%d", i), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"))
		p.Cost = rapid.SampledFrom([]string{"", "", "7", "-2147483648", "-2147483647"}).Draw(t, "cost")
		p.Priority = rapid.SampledFrom([]string{"", "1", "2", "x"}).Draw(t, "priority")
		p.Stage = rapid.SampledFrom([]Stage{Ready, Ready, Ready, NotReady}).Draw(t, "stage")
		pods = append(pods, p)
	}
	return pods
}

// TestPodsGoInTheirOrder: pods go in their order, as many at a time as Free says, however late the
// ReplicaSet controller sees the costs, and however the order changes on the way.
func TestPodsGoInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now, updated := &cluster{pods: drawPods(t)}, noon, int32(0)
		keys := []v1alpha1.OrderKey{byZone}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			switch rapid.SampledFrom([]string{"grow", "wait", "shrink", "shrink", "seen", "other order", "broken"}).Draw(t, "event") {
			case "grow": // a new pod is counted only by who has seen what was written before it was made
				updated++
				c.catchUp()
			case "wait":
				now = now.Add(Settled)
				c.catchUp()
			case "seen":
				c.caughtUp = rapid.IntRange(c.caughtUp, len(c.writes)).Draw(t, "caught up")
			case "other order":
				keys = rapid.SampledFrom([][]v1alpha1.OrderKey{{byZone}, {byPriority}, {{Name: v1alpha1.Descending}}}).Draw(t, "keys")
			case "broken":
				if len(c.pods) > 0 {
					c.pods[rapid.IntRange(0, len(c.pods)-1).Draw(t, "pod")].Stage = NotReady
				}
			case "shrink":
				c.shrinkInOrder(t, keys, updated, now)
			}
		}
		c.write(Restored(c.pods))
		for _, p := range c.pods {
			if p.Mark != nil {
				t.Errorf("pod %s still has a mark", p.Name)
			}
		}
	})
}

// shrinkInOrder does what a pass does: costs first, and then no more than is free.
func (c *cluster) shrinkInOrder(t *rapid.T, keys []v1alpha1.OrderKey, updated int32, now time.Time) {
	n := rapid.IntRange(0, len(c.pods)).Draw(t, "next")
	c.write(Costs(Sort(c.pods, keys), n, updated, now))
	if again := Costs(Sort(c.pods, keys), n, updated, now); len(again) > 0 {
		t.Fatalf("costs that were just written are written again: %v", again)
	}
	going := Going(Sort(c.pods, keys))
	free, _ := Free(going, updated, now)
	free = min(free, n)
	gone := c.shrink(free, t)
	for i, p := range going[:free] {
		if p.Stage == Ready && !slices.Contains(gone, p.Name) {
			t.Fatalf("%v went, but number %d to go was %s", gone, i+1, p.Name)
		}
	}
}

// TestOneWriteForEachPod: pods that go one after the other cost one write each.
func TestOneWriteForEachPod(t *testing.T) {
	var pods []Pod
	for i := range 100 {
		pods = append(pods, pod(fmt.Sprintf("pod-%03d", i), ""))
	}
	c, writes := &cluster{pods: pods}, 0
	for step := 10; step <= 100; step += 10 {
		sorted := Sort(c.pods, nil)
		changes := Costs(sorted, 15, int32(step), noon)
		writes += len(changes)
		c.write(changes)
		c.pods = slices.DeleteFunc(c.pods, func(p Pod) bool { return slices.Contains(namesOf(sorted[:10]), p.Name) })
	}
	if writes != 100 {
		t.Errorf("%d writes, want one for each of 100 pods", writes)
	}
}

// TestRaisedCostThatIsNotSeen: a pod whose raised cost nobody has seen may still go too early,
// though a user has changed the cost since.
func TestRaisedCostThatIsNotSeen(t *testing.T) {
	p := pod("a", "", costOf("5"))
	p.Mark = &Mark{After: 3, Raised: true, At: noon.Unix()}
	changes := Costs([]Pod{p}, 1, 3, noon)
	if len(changes) != 1 || !changes[0].Mark.Raised {
		t.Errorf("want one cost written, still as a raised one, got %+v", changes)
	}
}

// TestFreeInTime: a cost that waits for time to pass says until when.
func TestFreeInTime(t *testing.T) {
	c := &cluster{pods: []Pod{pod("a", ""), pod("b", "")}}
	c.write(Costs(Sort(c.pods, nil), 1, 3, noon))
	free, settled := Free(Going(Sort(c.pods, nil)), 3, noon)
	if free != 0 || !settled.Equal(noon.Add(Settled)) {
		t.Errorf("free %d until %v, want none until %v: nothing proves that the cost was seen", free, settled, noon.Add(Settled))
	}
	if free, _ := Free(Going(Sort(c.pods, nil)), 4, noon); free != 1 {
		t.Errorf("free %d, want 1: an updated pod was made after the cost was written", free)
	}
}
