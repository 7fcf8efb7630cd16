package forge

// EventKind says what a webhook is about.
type EventKind string

// Kinds of event. All that is of no use here is EventOther.
const (
	EventOther       EventKind = "other"
	EventPing        EventKind = "ping"
	EventPush        EventKind = "push"
	EventPullRequest EventKind = "pull_request"
	EventReview      EventKind = "pull_request_review"
	EventStatus      EventKind = "status"
	EventCheckRun    EventKind = "check_run"
	EventCheckSuite  EventKind = "check_suite"
)

// Event is the event that a webhook reports. It hints at an object to read, and proves nothing: it
// can be late, come twice or not at all.
type Event struct {
	Kind EventKind
	// Action is the forge's word for what was done, where a kind has several: opened, closed,
	// submitted.
	Action string
	// Repository it happened in; only ID and FullName are known. A ping may name none.
	Repository Repository

	// Branch that was pushed to, or into which a pull request goes; empty for a push of anything else.
	Branch string
	// Deleted is set where the push took the branch away.
	Deleted bool
	// Number of the pull request, and whether it was merged.
	Number int
	Merged bool
	// Head is the branch that a pull request proposes.
	Head string
	// SHA is the commit that the branch is at now, the head of the pull request, or the commit that a
	// status or check is about.
	SHA string
	// Name is the context of a status, or the name of a check run.
	Name string
	// App is the slug of the app that makes the check.
	App string
}
