package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
)

func invalid(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Invalid, Message: fmt.Sprintf(format, args...)}
}

// misconfigured returns the error of options or credentials that can't work.
func misconfigured(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Misconfigured, Message: fmt.Sprintf(format, args...)}
}

// distrusted wraps an answer that can't be true, or is not all of it.
func distrusted(format string, args ...any) *forge.Error {
	return &forge.Error{Kind: forge.Transient, Message: fmt.Sprintf(format, args...)}
}

// explain says what was tried, and gives an error its kind. After one that may go away by itself no
// answer is remembered. It returns nil for nil.
func (c *Client) explain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	known := c.kinded(err)
	if forge.KindOf(known) == forge.Transient {
		c.forgetAnswers()
	}
	return fmt.Errorf("%s: %w", c.secrets.clean(fmt.Sprintf(format, args...)), known)
}

// forgetAnswers makes the next requests ask for everything again: an answer that was not whole
// would be "not modified" for as long as the one that it should have been.
func (c *Client) forgetAnswers() {
	for _, memory := range c.memories {
		memory.Clear()
	}
}

func (c *Client) kinded(err error) error {
	if refused, ok := errors.AsType[*github.ErrorResponse](err); ok {
		return &forge.Error{Kind: kindOf(refused.Response.StatusCode), Message: c.secrets.clean(wording(refused))}
	}
	for _, own := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return own
		}
	}
	return c.secrets.typed(err)
}

func kindOf(status int) forge.Kind {
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

// wording returns what the forge says about its refusal.
func wording(refused *github.ErrorResponse) string {
	words := []string{fmt.Sprintf("%d %s", refused.Response.StatusCode, refused.Message)}
	for _, detail := range refused.Errors {
		switch {
		case detail.Message != "":
			words = append(words, detail.Message)
		case detail.Field != "":
			words = append(words, detail.Field+" is "+detail.Code)
		}
	}
	return strings.TrimSpace(strings.Join(words, ": "))
}
