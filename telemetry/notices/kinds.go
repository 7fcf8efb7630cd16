package notices

import (
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// kind defines the report of a fact.
type kind struct {
	// event is the type of the CloudEvent. It never changes: if its meaning changes, it gets a new
	// version.
	event string
	// emoji begins a message in Slack.
	emoji string
	// usual says that receivers without kinds get it.
	usual bool
	// batch says that it is about a batch.
	batch bool
	// repeats says that it can happen more than once in an attempt.
	repeats bool
}

var kinds = map[story.Kind]kind{
	story.ReleaseStarted:    {event: "dev.sluice.release.started.v1", emoji: ":rocket:", usual: true},
	story.BatchStarted:      {event: "dev.sluice.batch.started.v1", emoji: ":arrow_forward:", batch: true},
	story.BatchDone:         {event: "dev.sluice.batch.done.v1", emoji: ":ballot_box_with_check:", batch: true},
	story.GateOpened:        {event: "dev.sluice.gate.opened.v1", emoji: ":raised_hand:", usual: true},
	story.GatePassed:        {event: "dev.sluice.gate.passed.v1", emoji: ":ok:"},
	story.GateRejected:      {event: "dev.sluice.gate.rejected.v1", emoji: ":no_entry:", usual: true},
	story.GateUndecided:     {event: "dev.sluice.gate.undecided.v1", emoji: ":raised_hand:", usual: true},
	story.ApprovalRefused:   {event: "dev.sluice.approval.refused.v1", emoji: ":warning:", usual: true, repeats: true},
	story.ReleaseStopped:    {event: "dev.sluice.release.stopped.v1", emoji: ":double_vertical_bar:", usual: true, repeats: true},
	story.ReleaseResumed:    {event: "dev.sluice.release.resumed.v1", emoji: ":arrow_forward:", repeats: true},
	story.ReleaseFailed:     {event: "dev.sluice.release.failed.v1", emoji: ":x:", usual: true, repeats: true},
	story.ReleaseCompleted:  {event: "dev.sluice.release.completed.v1", emoji: ":white_check_mark:", usual: true},
	story.ReleaseAdopted:    {event: "dev.sluice.release.adopted.v1", emoji: ":seedling:"},
	story.ReleaseSuperseded: {event: "dev.sluice.release.superseded.v1", emoji: ":fast_forward:"},
	story.RollbackStarted:   {event: "dev.sluice.rollback.started.v1", emoji: ":rewind:", usual: true},
	story.RolledBack:        {event: "dev.sluice.rollback.completed.v1", emoji: ":leftwards_arrow_with_hook:", usual: true},
	story.Drifted:           {event: "dev.sluice.release.drifted.v1", emoji: ":warning:", usual: true, repeats: true},
	story.ReleaseDeleted:    {event: "dev.sluice.release.deleted.v1", emoji: ":wastebasket:"},
}

// Kinds returns all kinds of notices, sorted.
func Kinds() []story.Kind { return slices.Sorted(maps.Keys(kinds)) }

// usual reports whether receivers that name no kinds get a notice. Gates that machines decide are
// left out: no user has to act.
func usual(n *Notice) bool {
	if n.Kind == story.GateOpened {
		return n.Gate != nil && (n.Gate.Type == v1alpha1.GateManual || n.Gate.Type == v1alpha1.GatePullRequest)
	}
	return kinds[n.Kind].usual
}
