package notices

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// summary returns a notice in one sentence. It has no text of strangers except names of people,
// which the forge or the API server knows.
func summary(n *Notice) string {
	if n.Gate != nil {
		return gateSummary(n)
	}
	words := map[story.Kind]string{
		story.ReleaseStarted:    "Release started: " + batches(n),
		story.BatchStarted:      batchOf(n) + " started",
		story.BatchDone:         batchOf(n) + " done",
		story.ApprovalRefused:   "An approval was refused " + after(n),
		story.ReleaseStopped:    "Release stopped " + after(n) + why(n),
		story.ReleaseResumed:    "Release resumed " + after(n),
		story.ReleaseFailed:     "Release failed " + after(n) + ": no progress within the deadline" + ofMember(n),
		story.ReleaseCompleted:  "Release completed" + took(n),
		story.ReleaseAdopted:    "The workload came to the template without Sluice: nothing was released",
		story.ReleaseSuperseded: "Release superseded " + after(n),
		story.RollbackStarted:   "Rollback started" + began(n),
		story.RolledBack:        "Rolled back" + took(n),
		story.Drifted:           "Somebody changed the released pod template",
		story.ReleaseDeleted:    "BatchRelease deleted " + after(n) + ", while it was in progress",
	}
	return cmp.Or(words[n.Kind], string(n.Kind)) + "."
}

func gateSummary(n *Notice) string {
	gate := "a gate of type " + string(n.Gate.Type)
	switch n.Kind {
	case story.GateOpened:
		switch n.Gate.Type {
		case v1alpha1.GateManual:
			return batchOf(n) + " is done and waits for approval."
		case v1alpha1.GatePullRequest:
			return batchOf(n) + " is done and waits for a pull request to be merged."
		}
		return batchOf(n) + " is done and waits for " + gate + "."
	case story.GatePassed:
		if n.Gate.Forced {
			return batchOf(n) + ": " + gate + " was forced" + by(n) + "."
		}
		return batchOf(n) + ": " + gate + " passed" + by(n) + "."
	case story.GateUndecided:
		return batchOf(n) + ": metrics can't decide " + gate + ", and it waits for approval."
	case story.GateRejected:
		return batchOf(n) + ": " + gate + " was rejected" + by(n) + "."
	}
	return string(n.Kind) + "."
}

func batches(n *Notice) string {
	if n.Batches == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n.Batches)
}

func by(n *Notice) string {
	if n.Gate.By == "" {
		return ""
	}
	return " by " + n.Gate.By
}

func batchOf(n *Notice) string {
	if n.Batches == 0 {
		return fmt.Sprintf("Batch %d", n.Batch)
	}
	return fmt.Sprintf("Batch %d of %d", n.Batch, n.Batches)
}

// after returns where a release stands.
func after(n *Notice) string {
	if n.Batch == 0 {
		return "before its first batch"
	}
	return "in " + strings.ToLower(batchOf(n)[:1]) + batchOf(n)[1:]
}

func why(n *Notice) string {
	if cause := cmp.Or(string(n.StoppedBy), string(n.StalledBy)); cause != "" {
		return ": " + cause
	}
	return ""
}

func began(n *Notice) string {
	if n.Trigger == "" {
		return ""
	}
	return ": " + string(n.Trigger)
}

// ofMember says that it is a member of the train that makes no progress.
func ofMember(n *Notice) string {
	if n.Workload != "" {
		return ""
	}
	return " of a member"
}

func took(n *Notice) string {
	if n.Seconds == 0 {
		return ""
	}
	return " in " + (time.Duration(n.Seconds) * time.Second).String()
}
