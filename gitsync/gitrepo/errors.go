package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Kind tells errors apart by what has to happen next.
type Kind string

// Kinds of error.
const (
	// Invalid: the address or the branch can't be used as it is given.
	Invalid Kind = "Invalid"
	// InvalidAuth: the credentials can't be used as they are given.
	InvalidAuth Kind = "InvalidAuth"
	// Unreachable: no connection to the server.
	Unreachable Kind = "Unreachable"
	// Timeout: the server did not answer in time.
	Timeout Kind = "Timeout"
	// Denied: the server refuses the credentials, or its host key is not the known one.
	Denied Kind = "Denied"
	// RepositoryNotFound: the server has no such repository, or does not show it to us.
	RepositoryNotFound Kind = "RepositoryNotFound"
	// BranchNotFound: the repository has no such branch.
	BranchNotFound Kind = "BranchNotFound"
	// LimitExceeded: the repository is larger than allowed.
	LimitExceeded Kind = "LimitExceeded"
	// HistoryRewritten: the head is no descendant of the commit known before, or can't be shown to be
	// one.
	HistoryRewritten Kind = "HistoryRewritten"
	// Protocol: the server's answer is invalid or says that it failed.
	Protocol Kind = "Protocol"
	// Refused: the server does not move a branch as it was asked to.
	Refused Kind = "Refused"
)

// Error is a problem with a repository. Its message holds no credentials.
type Error struct {
	Kind    Kind
	Message string
	// Head is the head that is not followed; set with HistoryRewritten.
	Head string

	// refused: the server does not take the credentials.
	refused bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// KindOf returns the kind of an error of this package, and "" for any other.
func KindOf(err error) Kind {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Kind
	}
	return ""
}

func newError(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// maxMessage keeps a server from filling our status with its words.
const maxMessage = 512

// classify turns what go-git and the network report into an *Error. Errors that
// are one already, and the caller's own cancellation, are returned as they are.
func classify(ctx context.Context, err error, timeout time.Duration) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, errOutgrown):
		return errOutgrown
	case errors.Is(err, errNotServed):
		return errNotServed
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		return newError(Timeout, "no answer from the server within %s", timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	found := newError(kindOf(err), "%s", clean(unwrapUnexpected(err).Error()))
	if found.refused = isRefused(unwrapUnexpected(err)); found.refused {
		for _, known := range []error{transport.ErrAuthenticationRequired, transport.ErrAuthorizationFailed} {
			for found.Message != "" && found.Message != strings.TrimPrefix(found.Message, known.Error()) {
				found.Message = strings.TrimLeft(strings.TrimPrefix(found.Message, known.Error()), ": ")
			}
		}
	}
	return found
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(unwrapUnexpected(err), &timeout) && timeout.Timeout()
}

func kindOf(err error) Kind {
	err = unwrapUnexpected(err)
	var network *net.OpError
	var lookup *net.DNSError
	switch {
	case isDenied(err):
		return Denied
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return RepositoryNotFound
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return BranchNotFound
	case errors.As(err, &network), errors.As(err, &lookup), isCertificate(err):
		return Unreachable
	}
	return Protocol
}

func isDenied(err error) bool {
	var hostKey *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var algorithms *ssh.AlgorithmNegotiationError // none of the host key's kinds is in known_hosts
	return isRefused(err) || errors.As(err, &hostKey) || errors.As(err, &revoked) || errors.As(err, &algorithms)
}

// isRefused reports whether the server does not take the credentials.
func isRefused(err error) bool {
	return errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed) ||
		// golang.org/x/crypto/ssh has no type for it.
		strings.Contains(err.Error(), "ssh: unable to authenticate")
}

// unwrapUnexpected looks into go-git's UnexpectedError, which has no Unwrap.
func unwrapUnexpected(err error) error {
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		return unexpected.Err
	}
	return err
}

var (
	userinfo = regexp.MustCompile(`://[^/\s"']*@`)
	control  = regexp.MustCompile(`[\x00-\x1f\x7f]+`)
)

// clean removes credentials in addresses and control characters, and cuts a
// message that is too long.
func clean(message string) string {
	message = strings.ToValidUTF8(message, "?")
	message = userinfo.ReplaceAllString(message, "://")
	message = strings.TrimSpace(control.ReplaceAllString(message, " "))
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
