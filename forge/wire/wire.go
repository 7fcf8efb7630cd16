package wire

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/lru"
)

// UserAgent names Sluice to a forge.
const UserAgent = "sluice"

// cacheBytes limits the answers that a Wire keeps to revalidate.
const cacheBytes = 4 << 20

// Credentials say who we are.
type Credentials interface {
	// Token returns a token that is good for some minutes at least.
	Token(ctx context.Context) (string, error)
	// Refused drops a token that the forge did not accept.
	Refused(token string)
	// Identity stays the same for as long as the same answers are to be expected.
	Identity() string
}

// Token is a token that a user made.
type Token string

// Token returns it.
func (t Token) Token(context.Context) (string, error) { return string(t), nil }

// Refused does nothing: the owner of the token has to make another.
func (Token) Refused(string) {}

// Identity needs no more: a client has only the one token.
func (Token) Identity() string { return "token" }

// Options say what a Wire sends over, and as whom.
type Options struct {
	Network     http.RoundTripper
	Credentials Credentials
	// Limit is shared by all whose requests the forge counts together.
	Limit *Limit
	// Timeout limits one request with its answer.
	Timeout time.Duration
	Secrets Scrubber
}

// Wire is the stack of transports below a client.
type Wire struct {
	client  *http.Client
	limiter *limiter
	answers *answers
}

// New makes a Wire. It sends nothing.
func New(o Options) *Wire {
	w := &Wire{
		limiter: &limiter{next: &authorised{next: &bodies{next: o.Network}, credentials: o.Credentials}, limit: o.Limit},
		answers: lru.New[string, answer](cacheBytes),
	}
	w.client = &http.Client{CheckRedirect: sameOrigin, Transport: &deadline{
		next:    &conditional{next: w.limiter, identity: o.Credentials.Identity, answers: w.answers},
		timeout: o.Timeout, secrets: o.Secrets,
	}}
	return w
}

// HTTP returns the client that sends over the Wire.
func (w *Wire) HTTP() *http.Client { return w.client }

// Forget makes the next requests ask for everything again.
func (w *Wire) Forget() { w.answers.Clear() }

// BudgetOf returns what is left of the limits of some Wires, and how much they have sent.
func BudgetOf(wires []*Wire) forge.Budget {
	var sum forge.Budget
	for _, w := range wires {
		b := w.limiter.limit.snapshot()
		b.Requests = sum.Requests + w.limiter.requests.Load()
		b.Unchanged = sum.Unchanged + w.limiter.unchanged.Load()
		if sum.LimitedUntil.After(b.LimitedUntil) {
			b.LimitedUntil = sum.LimitedUntil
		}
		sum = b
	}
	return sum
}

// unanswered counts the requests of this process that no forge has answered yet.
var unanswered atomic.Int64

// Unanswered returns how many requests of this process wait for the answer of a forge.
func Unanswered() int64 { return unanswered.Load() }
