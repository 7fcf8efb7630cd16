package wire

import (
	"fmt"
	"net/http"

	"github.com/sluice-dev/sluice/forge"
)

// Invalid returns the error of a request that the forge would never take.
func Invalid(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Invalid, Message: fmt.Sprintf(format, args...)}
}

// Misconfigured returns the error of options or credentials that can't work.
func Misconfigured(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Misconfigured, Message: fmt.Sprintf(format, args...)}
}

// Distrusted wraps an answer that can't be true, or is not all of it.
func Distrusted(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Transient, Message: fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of the error that a status is.
func KindOf(status int) forge.Kind {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return forge.NotFound
	case http.StatusUnauthorized:
		return forge.Unauthorised
	case http.StatusForbidden:
		return forge.Forbidden
	case http.StatusConflict, http.StatusPreconditionFailed:
		return forge.Conflict
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return forge.Transient
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return forge.Invalid
	}
	return forge.Transient
}
