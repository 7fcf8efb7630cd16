package journeys

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// aboutReleases are the lines of a controller's log at INFO that are about releases, without their
// times.
var aboutReleases = regexp.MustCompile(`"level"=0 ("msg"=.*"release"=.*)`)

func (l *logbook) aboutReleases(replace *strings.Replacer) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, line := range l.lines {
		if found := aboutReleases.FindStringSubmatch(line); found != nil {
			lines = append(lines, replace.Replace(found[1]))
		}
	}
	return lines
}

// logged returns the lines of the first controller about releases, up to one with a reason: that is
// written after the status.
func (w *world) logged(last string, replace *strings.Replacer) []string {
	w.Helper()
	deadline := time.After(soon)
	for {
		lines := w.logs[0].aboutReleases(replace)
		if len(lines) > 0 && strings.Contains(lines[len(lines)-1], `"reason"="`+last+`"`) {
			return lines
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			w.Fatalf("not within %v: want a line with the reason %s:\n%s", soon, last, strings.Join(lines, "\n"))
		}
	}
}

const commitOfLog = "0123456789abcdef0123456789abcdef01234567"

// TestLogOfRelease: a log tells of a whole release, and of its rollback, one line for each thing
// that people ask for later.
func TestLogOfRelease(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	r := releaseOf(podTemplate("web:2", nil), step(1), step("50%", none()), step("100%"))
	r.Annotations = map[string]string{v1alpha1.CommitAnnotation: commitOfLog}
	w.create(r)
	w.await(web.blocksAt(0))
	w.confirm("web")
	s := w.await(all(web.completed, web.serves("web:2", 4)))
	updated, stable := s.releases["web"].Status.UpdateRevision, ""
	for _, set := range s.sets {
		if revision := set.Labels["pod-template-hash"]; revision != updated {
			stable = revision
		}
	}
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
	got := w.logged("RolledBack", strings.NewReplacer(w.namespace, "NS", updated, "V2", stable, "V1"))
	const of, back = ` "release"="NS/web" "revision"="V2" "commit"="01234567"`, ` "release"="NS/web" "revision"="V1" "commit"="01234567" "trigger"="Annotation"`
	want := []string{
		`"msg"="revision V2 of commit 0123456 is released in 3 batches" "reason"="TakingOver" "type"="Normal"` + of,
		`"msg"="batch 1/3: updating to 1 pod of 4" "reason"="StepUpgrading" "type"="Normal"` + of,
		`"msg"="batch 1/3 done with 1 pod of 4, waiting for gate: manual" "reason"="StepBlocking" "type"="Normal"` + of,
		`"msg"="manual gate after batch 1: confirmed through field manager \"TestLogOfRelease\"" "reason"="GatePassed" "type"="Normal"` + of + ` "gate"="web-V2-1-0-0" "by"="StatusPatch"`,
		`"msg"="batch 2/3: updating to 2 pods of 4" "reason"="StepUpgrading" "type"="Normal"` + of,
		`"msg"="batch 2/3 done with 2 pods of 4" "reason"="StepCompleted" "type"="Normal"` + of,
		`"msg"="batch 3/3: updating to 4 pods of 4" "reason"="StepUpgrading" "type"="Normal"` + of,
		`"msg"="batch 3/3 done with 4 pods of 4" "reason"="StepCompleted" "type"="Normal"` + of,
		`"msg"="all pods run revision V2" "reason"="Completed" "type"="Normal"` + of,
		`"msg"="rolling back to V1: rollback=true was requested" "reason"="RollingBack" "type"="Normal"` + back,
		`"msg"="batch 1/2: updating to 1 pod of 4" "reason"="RollingBack" "type"="Normal"` + back,
		`"msg"="batch 1/2 done with 1 pod of 4" "reason"="StepCompleted" "type"="Normal"` + back,
		`"msg"="batch 2/2: updating to 4 pods of 4" "reason"="RollingBack" "type"="Normal"` + back,
		`"msg"="batch 2/2 done with 4 pods of 4" "reason"="StepCompleted" "type"="Normal"` + back,
		`"msg"="revision V1 runs again" "reason"="RolledBack" "type"="Normal"` + back,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
