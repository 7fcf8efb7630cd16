package wire

import (
	"errors"
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// maxMessage keeps a server from filling our status with its words.
const maxMessage = 512

// maxRead bounds the part of a message that is searched for credentials, in bytes: to search 8 MiB
// takes seconds.
const maxRead = 64 << 10

const hidden = "[hidden]"

var (
	// Tokens have had many lengths and alphabets; a JWT may be part of one.
	tokens   = regexp.MustCompile(`(gh[a-z]_|github_pat_|gl(?:pat|soat|oas|dt|rt|cbt|ptt|ft|imt|agent)-)[A-Za-z0-9_.\-]+`)
	jwts     = regexp.MustCompile(`eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*`)
	bearers  = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9_.\-+/=]{16,}`)
	userinfo = regexp.MustCompile(`://[^/\s"']*@`)
	control  = regexp.MustCompile(`[\x00-\x1f\x7f]+`)
)

// Scrubber takes credentials out of what is said to people.
type Scrubber struct {
	// Secret is a token that is known, whatever it looks like. Optional.
	Secret string
}

// Clean removes credentials and control characters, and cuts what is too long.
func (s Scrubber) Clean(message string) string {
	if len(message) > maxRead { // no credential has a space or a quote in it: none is cut in two
		message = message[:max(0, strings.LastIndexAny(message[:maxRead], " \n\t\"'"))]
	}
	if s.Secret != "" {
		message = strings.ReplaceAll(message, s.Secret, hidden)
	}
	message = strings.ToValidUTF8(message, "?")
	message = tokens.ReplaceAllString(message, hidden)
	message = jwts.ReplaceAllString(message, hidden)
	message = bearers.ReplaceAllString(message, "$1 "+hidden)
	message = userinfo.ReplaceAllString(message, "://")
	message = strings.TrimSpace(control.ReplaceAllString(message, " "))
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}

// Typed gives an error that has no kind the one of a failed connection, without its secrets.
func (s Scrubber) Typed(err error) error {
	if limited, ok := errors.AsType[*forge.LimitedError](err); ok {
		return limited
	}
	if known, ok := errors.AsType[*forge.Error](err); ok {
		return known
	}
	return &forge.Error{Kind: forge.Transient, Message: s.Clean(err.Error())}
}
