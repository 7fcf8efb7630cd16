package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestNarratorRepeatsNothing(t *testing.T) {
	t.Parallel()
	out, read := captured(t)
	n := newNarrator(newScreen(out, true, func() {}), "")
	n.hear(newScene())
	scene := sceneAtGate()
	n.hear(scene)
	n.hear(scene)
	scene.release = scene.release.DeepCopy()
	scene.release.Status.Message = "4 of 10 pods are updated"
	n.hear(scene)
	scene.apply(&v1alpha1.Gate{
		Spec:   v1alpha1.GateSpec{Type: v1alpha1.GatePullRequest, Step: 1},
		Status: v1alpha1.GateStatus{Message: "waits for #12"},
	}, false)
	n.hear(scene)
	n.hear(scene)

	var got []string
	for line := range strings.Lines(read()) {
		_, said, _ := strings.Cut(line, "s  ")
		got = append(got, strings.TrimSpace(said))
	}
	want := []string{
		"web: 3 of 10 pods are updated [nginx:1.27: 3, nginx:1.28: 3]",
		"web: 4 of 10 pods are updated [nginx:1.27: 3, nginx:1.28: 3]",
		"pullRequest gate after batch 2: waits for #12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each new message of the release and of a gate is a line (-want +got):\n%s", diff)
	}
}

func TestNoteCountsDown(t *testing.T) {
	t.Parallel()
	n := &note{}
	n.set("releasing %s", "it")
	if diff := cmp.Diff("releasing it", n.String()); diff != "" {
		t.Errorf("a note is as it was set (-want +got):\n%s", diff)
	}
	n.countDown("looking", time.Hour)
	if got := n.String(); !strings.HasPrefix(got, "looking (3") {
		t.Errorf("a note that counts down says how long: got %q", got)
	}
	n.countDown("looking", -time.Second)
	if diff := cmp.Diff("looking", n.String()); diff != "" {
		t.Errorf("time that is over is not shown (-want +got):\n%s", diff)
	}
}
