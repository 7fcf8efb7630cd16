package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/dialer"
)

const (
	// maxBody is far above what a page of 100 items takes.
	maxBody = 8 << 20
	// maxValues is far above what a page of 100 items has. An element of two bytes takes hundreds once
	// it is decoded, also one of another type.
	maxValues = 50_000
	// maxRedirects is for repositories that were renamed.
	maxRedirects = 3
)

// sameOrigin follows a redirect only where the same request goes to the same server: the
// transport would hand our credentials to any other, and a POST that became a GET would look
// as if it had been done. Proxies redirect for a while and stop, so it may be tried again.
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return Distrusted("the server redirects over and over")
	case req.URL.Scheme != first.URL.Scheme || !dialer.SameServer(req.URL, first.URL):
		return Distrusted("the server redirects to another one, %s", req.URL.Host)
	case req.Method != first.Method:
		return Distrusted("the repository has moved: use its new name")
	}
	return nil
}

// deadline bounds a request together with its answer. It is the outermost transport, and makes
// sure that no error contains credentials.
type deadline struct {
	next    http.RoundTripper
	timeout time.Duration
	secrets Scrubber
}

// RoundTrip implements http.RoundTripper. The answer's body is in memory already.
func (t *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = spend(ctx, resp.ContentLength)
	}
	if err == nil {
		return resp, nil
	}
	if own := req.Context().Err(); own != nil {
		return nil, own
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &forge.Error{Kind: forge.Transient, Message: fmt.Sprintf("no answer from the server within %s", t.timeout)}
	}
	return nil, t.secrets.Typed(err)
}

// bodies reads each answer whole, so that one that ends early, is too large or is not JSON is an
// error here and not a short list further up.
type bodies struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *bodies) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := dialer.Whole(resp, maxBody)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", err)
	case speaks(resp.StatusCode) && !isJSON(body):
		return nil, errors.New("read answer: it is not what the API returns")
	case values(body) > maxValues:
		return nil, fmt.Errorf("read answer: it has more than %d values", maxValues)
	}
	return resp, nil
}

// speaks reports whether an answer of that status has a body that matters.
func speaks(status int) bool {
	return status >= http.StatusOK && status < http.StatusMultipleChoices && status != http.StatusNoContent
}

// isJSON reports whether a body is an object or a list.
func isJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && json.Valid(body)
}

// values counts the objects and lists of a JSON text, and the other elements of its lists.
func values(body []byte) int {
	count, quoted := 0, false
	var lists []bool // of the open brackets, which ones begin a list
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++ // what is escaped ends no text
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			count++
			lists = append(lists, c == '[')
		case c == '}' || c == ']':
			lists = lists[:max(len(lists)-1, 0)]
		case c == ',' && len(lists) > 0 && lists[len(lists)-1] && i+1 < len(body) && body[i+1] != '{' && body[i+1] != '[':
			count++
		}
	}
	return count
}

// authorised adds credentials to each request.
type authorised struct {
	next        http.RoundTripper
	credentials Credentials
}

// RoundTrip implements http.RoundTripper.
func (t *authorised) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.credentials.Token(req.Context())
	if err != nil {
		return nil, err
	}
	signed := req.Clone(req.Context())
	signed.Header.Set("Authorization", "Bearer "+token)
	resp, err := t.next.RoundTrip(signed)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		t.credentials.Refused(token)
	}
	return resp, err
}
