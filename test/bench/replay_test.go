package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// began is when the releases of all scripts begin.
var began = time.Date(2026, time.November, 21, 8, 0, 0, 0, time.UTC)

// script makes a watch log of the Deployment "web" out of changes that are parted by semicolons:
//
//	pod NAME VERSION [ready|unready] [ending]     a pod, never ready by default
//	place NAME VERSION [ready|unready] [ending]   a pod of a StatefulSet or a DaemonSet
//	set VERSION REPLICAS                          a ReplicaSet
//	gone NAME                                     the end of either
//	start                                         no change: the release begins here
//
// The nth change after the start comes n seconds after it, the one before the start a second
// before.
func script(t *testing.T, text string) []change {
	t.Helper()
	lines := strings.Split(text, ";")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "start" })
	if start < 0 {
		t.Fatalf("the script never starts: %s", text)
	}
	var log []change
	last := map[string]change{}
	for i, line := range lines {
		if i == start {
			continue
		}
		c := change{at: began.Add(time.Duration(i-start) * time.Second), revision: uint64(i + 1)}
		switch words := strings.Fields(line); words[0] {
		case "pod":
			c.object = pod(words[1], words[2], words[3:])
		case "place":
			made := pod(words[1], words[2], words[3:])
			made.Labels = map[string]string{appLabel: "web", appsv1.ControllerRevisionHashLabelKey: words[2]}
			c.object = made
		case "set":
			c.object = replicaSet(t, words[1], words[2])
		case "gone":
			c.object, c.gone = last[words[1]].object, true
		default:
			t.Fatalf("line %d of the script makes no sense: %q", i, line)
		}
		last[c.object.GetName()] = c
		log = append(log, c)
	}
	return log
}

func labels(version string) map[string]string {
	return map[string]string{appLabel: "web", appsv1.DefaultDeploymentUniqueLabelKey: version}
}

func pod(name, version string, states []string) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(version)}}
	for _, state := range states {
		switch state {
		case "ready", "unready":
			status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[state == "ready"]
			made.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status},
			}
		case "ending":
			made.DeletionTimestamp = &metav1.Time{Time: began}
		}
	}
	return made
}

func replicaSet(t *testing.T, version, replicas string) *appsv1.ReplicaSet {
	t.Helper()
	n, err := strconv.ParseInt(replicas, 10, 32)
	if err != nil {
		t.Fatalf("read replicas: %v", err)
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: version, Labels: labels(version)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(n))},
	}
}

// replayOne replays the log of a single Deployment.
func replayOne(t *testing.T, text string, targets ...int) history {
	t.Helper()
	histories := replayAll(script(t, text), began, targets)
	if len(histories) != 1 {
		t.Fatalf("want the history of one Deployment, got %d", len(histories))
	}
	return histories[0]
}

func TestExtent(t *testing.T) {
	t.Parallel()
	const up = "set v1 3; pod a v1 ready; pod b v1 ready; pod c v1 ready; start; "
	cases := map[string]struct {
		reason, script string
		want           extent
	}{
		"Surge":         {"a new pod counts before it is ready", up + "pod d v2", extent{3, 4}},
		"SurgeReady":    {"and does not make the least larger later", up + "pod d v2; pod d v2 ready; pod e v2 ready", extent{3, 5}},
		"Ending":        {"a pod that is being deleted is neither available nor there, ready or not", up + "pod a v1 ready ending", extent{2, 2}},
		"Gone":          {"nor is one that is gone at once", up + "gone a; gone b", extent{1, 2}},
		"EndingAndGone": {"the end of one that was being deleted is no second loss", up + "pod a v1 ready ending; gone a", extent{2, 2}},
		"Replaced":      {"the worst moment counts, not the end", up + "gone a; pod d v2; pod d v2 ready", extent{2, 3}},
		"Unready":       {"a pod that is not ready any more is not available", up + "pod a v1 unready; pod a v1 ready", extent{2, 3}},
		"None":          {"no pod at all is the least there can be", up + "gone a; gone b; gone c; pod d v2 ready", extent{0, 2}},
		"Before": {
			"what was before the start is not the release's doing",
			"set v1 1; pod a v1 ready; pod x v1 ready; pod y v1 ready; gone x; gone y; start; pod a v1 ready", extent{1, 1},
		},
		"Sets": {"ReplicaSets are no pods", up + "set v2 100; pod a v1 ready; set v1 0", extent{3, 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := replayOne(t, tc.script).extent; got != tc.want {
				t.Errorf("%s: want %+v, got %+v after %s", tc.reason, tc.want, got, tc.script)
			}
		})
	}
}

// told writes hand-overs as the pod that completed a step and the ReplicaSet that began the
// next, each with the second of its change.
func told(handOvers []handOver) []string {
	var all []string
	for _, h := range handOvers {
		all = append(all, fmt.Sprintf("%s@%.0f %s@%.0f",
			h.pod.object.GetName(), h.pod.at.Sub(began).Seconds(), h.next.object.GetName(), h.next.at.Sub(began).Seconds()))
	}
	return all
}

func TestHandOvers(t *testing.T) {
	t.Parallel()
	const up = "set v1 4; pod a v1 ready; pod b v1 ready; pod c v1 ready; pod d v1 ready; start; "
	steps := []int{1, 2, 4}
	cases := map[string]struct {
		reason, script string
		targets        []int
		want           []string
	}{
		"New": {
			"more new pods than the step has are the next one's",
			up + "set v2 1; pod e v2; pod e v2 ready; set v2 2", steps, []string{"e@3 v2@4"},
		},
		"Old": {
			"so are fewer old ones than the step leaves",
			up + "set v2 1; pod e v2 ready; set v1 3; set v1 2", steps, []string{"e@2 v1@4"},
		},
		"FirstOnly": {
			"the first change that goes beyond a step begins the next, what follows belongs to that",
			up + "set v2 1; pod e v2 ready; set v2 2; set v1 2; set v1 2", steps, []string{"e@2 v2@3"},
		},
		"NotComplete": {
			"as long as a pod of the step is not ready there is nothing to hand over",
			up + "set v2 2; pod e v2; set v2 2; set v2 3", steps, nil,
		},
		"NotReadyAnyMore": {
			"a pod that was ready once and is not any more does not count towards the next step",
			up + "set v2 1; pod e v2 ready; set v2 2; pod e v2 unready; pod f v2 ready; set v2 4", steps, []string{"e@2 v2@3"},
		},
		"EndingDoesNotCount": {
			"a new pod that is being deleted completes nothing",
			up + "set v2 1; pod e v2 ready ending; set v2 2", steps, nil,
		},
		"OldDoNotCount": {
			"old pods complete nothing, however ready they are",
			up + "set v2 1; pod a v1 ready; pod b v1 ready; set v2 2", steps, nil,
		},
		"WithinStep": {
			"changes that stay within the step begin nothing",
			up + "set v2 1; pod e v2 ready; set v2 1; set v1 3; set v2 1", steps, nil,
		},
		"First": {
			"it is the pod that completed the step that counts, not one that changes later",
			up + "set v2 1; pod e v2 ready; pod a v1 ready; pod e v2 ready; set v2 2", steps, []string{"e@2 v2@5"},
		},
		"All": {
			"there is one between every two steps, and none after the last",
			up + "set v2 1; pod e v2 ready; set v1 3; gone a; set v2 2; pod f v2 ready; set v1 2; set v2 4; pod g v2 ready; pod h v2 ready; set v1 0; set v2 5",
			steps, []string{"e@2 v2@5", "f@6 v2@8"},
		},
		"NoSteps": {
			"the native roll has no steps, and so nothing to hand over",
			up + "set v2 1; pod e v2 ready; set v2 4; set v1 0", nil, nil,
		},
		"OneStep": {
			"nor has a release with a single step",
			up + "set v2 4; pod e v2 ready; pod f v2 ready; pod g v2 ready; pod h v2 ready; set v1 0", []int{4}, nil,
		},
		"OlderSets": {
			"an old version without pods that stayed behind is not taken for the new one",
			"set v0 0; set v1 2; pod a v1 ready; pod b v1 ready; start; set v0 0; set v2 1; pod c v2 ready; gone v0; set v2 2",
			[]int{1, 2}, []string{"c@3 v2@5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, told(replayOne(t, tc.script, tc.targets...).handOvers)); diff != "" {
				t.Errorf("%s: hand-overs (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
