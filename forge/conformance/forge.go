// Package conformance holds clients of forges to the rules that gates rely on. Each case is played
// by people on a real repository of a forge, read by its client, and judged by the rules of gates.
package conformance

import (
	"testing"

	"github.com/sluice-dev/sluice/forge"
)

// Forge is a forge that cases are played on.
type Forge interface {
	// New makes the repository OWNER/NAME with a branch main that has the file web.yaml. The account
	// sluice, which the client acts as, may write to it.
	New(t testing.TB, name string) Repository
	// Has says what the forge can do beside what all can.
	Has() Abilities
	// Domain returns the domain of the accounts' e-mail addresses, LOGIN@DOMAIN.
	Domain() string
}

// Abilities tell forges apart.
type Abilities struct {
	// Programs are accounts that the forge tells from people.
	Programs bool
	// Dismissals take a review back.
	Dismissals bool
	// Renames keep the number of an account that gets another login.
	Renames bool
	// Deletes remove accounts that have reviewed.
	Deletes bool
	// LateReviews can be given after the merge.
	LateReviews bool
	// Forks of the repository can be made.
	Forks bool
	// Faults can be switched on.
	Faults bool
}

// Right is a right to a repository.
type Right string

// The rights.
const (
	None  Right = "none"
	Read  Right = "read"
	Write Right = "write"
	Admin Right = "admin"
)

// Verdict is the answer of a reviewer.
type Verdict string

// The verdicts.
const (
	Approve        Verdict = "approve"
	RequestChanges Verdict = "request changes"
	Comment        Verdict = "comment"
)

// Method is a way to merge.
type Method string

// The methods, of which a forge may lack some.
const (
	Merge  Method = "merge"
	Squash Method = "squash"
	Rebase Method = "rebase"
)

// Repository has people work on one repository. A failure ends the test.
type Repository interface {
	// Client returns a client that knows nothing yet, as after a restart.
	Client(t testing.TB) forge.Client
	// Join makes accounts that have a right. One that is there gets the right.
	Join(right Right, logins ...string)
	// Program makes the account of a program that may write, and returns its login.
	Program(name string) string
	// Rename gives an account another login, and Delete removes an account.
	Rename(login, to string)
	Delete(login string)
	// CloneURL returns the address for Git, with what lets somebody in.
	CloneURL(login string) string
	// Fork makes somebody's fork, and returns its address for Git.
	Fork(login string) string
	// Open opens a pull request of a branch as somebody. The head of a fork is LOGIN:BRANCH.
	Open(login, head, base string) (number int)
	Review(login string, number int, verdict Verdict)
	// Dismiss takes the reviews of somebody back.
	Dismiss(login string, number int, reviewer string)
	// Merge merges a pull request. It reports false if the forge has no such method.
	Merge(login string, number int, method Method) bool
	Close(login string, number int)
	Reopen(login string, number int)
	// Status posts a commit status.
	Status(login, sha, context string, state forge.State)
	// Pulls returns how many pull requests of a branch there are, closed ones included.
	Pulls(branch string) int
	// Comments returns what was said below a pull request.
	Comments(number int) []string
	// Requests returns how many requests the client's account has sent to the API so far, and how many
	// of them changed something; -1 where the forge does not count.
	Requests() (all, writes int)
	// Fault has the forge answer requests of the client whose path matches a pattern with a status, or
	// cut the answer for a status of 0, until off is called. It returns how many it has answered so.
	Fault(pattern string, status int) (off func() (hits int))
}
