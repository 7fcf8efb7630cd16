package github

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

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
	return fmt.Errorf("%s: %w", c.secrets.Clean(fmt.Sprintf(format, args...)), known)
}

// forgetAnswers makes the next requests ask for everything again: an answer that was not whole
// would be "not modified" for as long as the one that it should have been.
func (c *Client) forgetAnswers() {
	for _, below := range c.wires {
		below.Forget()
	}
}

func (c *Client) kinded(err error) error {
	if refused, ok := errors.AsType[*github.ErrorResponse](err); ok {
		return &forge.Error{Kind: wire.KindOf(refused.Response.StatusCode), Message: c.secrets.Clean(wording(refused))}
	}
	for _, own := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return own
		}
	}
	return c.secrets.Typed(err)
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
