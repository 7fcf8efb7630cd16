// Package measure reads metrics from servers over HTTP.
//
//	Query ──► Server ─► deadline ─► bounded ─► authorised ─► network ──► Answer
//
// What must hold:
//
//   - an answer that is cut, partial, too large or of another form is an error, so that no series
//     is taken for absent that is only unread;
//   - credentials go to no other server, and appear in no error;
//   - each error has a kind; nobody reads its words to decide.
package measure

import (
	"fmt"
	"time"
)

// Answer holds the series that a query has selected, or a JSON answer.
type Answer struct {
	Series []Series
	// JSON is the value of a JSON answer: objects are map[string]any, lists []any, numbers float64.
	JSON any
	// size of a JSON answer, or of all labels, in series.
	size int
	// Notes are remarks of the server on the query, for people.
	Notes []string

	index *index // nil in an answer that nobody shares
}

// weight returns the memory that an answer takes, in series.
func (a *Answer) weight() int { return len(a.Series) + a.size }

// Series is one value with its labels.
type Series struct {
	Labels map[string]string // nil for a scalar
	Value  float64           // also NaN or infinite
	// At is the time that the server gives the value.
	At time.Time
}

// Kind says what is wrong with a query or its server.
type Kind string

// Kinds of errors.
const (
	Unreachable   Kind = "Unreachable"   // no answer, or a server that is down: it may come back
	Unauthorised  Kind = "Unauthorised"  // the credentials are refused
	Misconfigured Kind = "Misconfigured" // the address or what comes with it can't work
	BadQuery      Kind = "BadQuery"      // the server can't evaluate the query
	BadAnswer     Kind = "BadAnswer"     // the answer is partial, too large, or not what the API returns
)

// Error is the error of a query.
type Error struct {
	Kind    Kind
	Message string
}

// Error says what is wrong, for people.
func (e *Error) Error() string { return e.Message }

func failed(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}
