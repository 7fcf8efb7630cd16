package forge

import (
	"errors"
	"fmt"
	"time"
)

// Kind tells errors apart by what has to happen next.
type Kind string

// Kinds of error.
const (
	// NotFound: there is no such thing, or it is not shown to us.
	NotFound Kind = "NotFound"
	// Unauthorised: the credentials are wrong or no longer good.
	Unauthorised Kind = "Unauthorised"
	// Forbidden: the credentials are good, but not for this.
	Forbidden Kind = "Forbidden"
	// Limited: the forge wants no requests for now. The error is a *LimitedError.
	Limited Kind = "Limited"
	// Conflict: another writer was faster; decide again.
	Conflict Kind = "Conflict"
	// Misconfigured: no client can work with these options, or no token has these rights. A user must
	// change them, and the same request is good after that.
	Misconfigured Kind = "Misconfigured"
	// Invalid: the forge will not take it, whenever it is tried.
	Invalid Kind = "Invalid"
	// Transient: try again later.
	Transient Kind = "Transient"
)

// Error is a failure of a forge. Its message holds no credentials.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// LimitedError says that the forge wants no requests before a time. None is sent until then.
type LimitedError struct {
	Until time.Time
	// Own says that the limit is our own, which saves what the forge allows for what people wait for.
	// Other requests may be sent. Another one may be every so often.
	Own   bool
	Every time.Duration
}

// Error says how long.
func (e *LimitedError) Error() string {
	if e.Own {
		return fmt.Sprintf("waits until %s, as the requests that the forge allows are nearly used up", e.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("rate limited until %s", e.Until.UTC().Format(time.RFC3339))
}

// KindOf returns the kind of an error of this package, and "" for any other.
func KindOf(err error) Kind {
	if _, ok := errors.AsType[*LimitedError](err); ok {
		return Limited
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Kind
	}
	return ""
}
