package notices

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// Limits of a request.
const (
	requestTimeout = 10 * time.Second
	connectTimeout = 5 * time.Second
	maxAnswer      = 4 << 10
	maxHeader      = 64 << 10
)

// outcome is the result of a request. Its words contain nothing of the address or the response.
type outcome struct {
	delivered bool
	// final says that a retry would be useless.
	final bool
	// after is how long the receiver asks to wait.
	after time.Duration
	words string
}

// errAddress says that nothing may be sent to the address of a receiver.
var errAddress = errors.New("the address is not allowed")

// newClient makes the client for a receiver. It follows no redirects, and connects neither to
// link-local addresses nor to those at which clouds give out credentials; to loopback only if the
// URL names it.
func newClient(r *receiver) (*http.Client, error) {
	rules := dialer.Rules{}
	if r.loopback {
		rules.Allowed = dialer.Loopback()
	}
	base := &http.Transport{MaxResponseHeaderBytes: maxHeader, DisableCompression: true, MaxIdleConns: 2}
	transport, err := dialer.NewHTTP(base, r.bundle, connectTimeout, rules, func(netip.Addr) error { return errAddress })
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// deliver sends a notice to a receiver, once.
func deliver(ctx context.Context, client *http.Client, r *receiver, p *pending, now time.Time) outcome {
	body, header, err := r.request(p, now)
	if err != nil {
		return outcome{final: true, words: "the notice can't be written: check the template"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address.reveal(), bytes.NewReader(body))
	if err != nil {
		return outcome{final: true, words: "the URL can't be used"}
	}
	request.Header = header
	request.Header.Set("User-Agent", "sluice-notices")
	response, err := client.Do(request)
	if err != nil {
		return outcome{words: cause(err)}
	}
	defer response.Body.Close()
	// What is read, the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return judge(response, now)
}

// request returns the request to a receiver.
func (r *receiver) request(p *pending, now time.Time) ([]byte, http.Header, error) {
	if r.kind == typeSlack {
		return slackRequest(&p.Notice, r.words)
	}
	return eventRequest(p.ID, &p.Notice, r.keys, now)
}

// judge returns the outcome of a response.
func judge(response *http.Response, now time.Time) outcome {
	code := response.StatusCode
	words := fmt.Sprintf("the receiver answered %d %s", code, http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return outcome{delivered: true}
	case code >= 300 && code < 400:
		return outcome{final: true, words: words + ": redirects are not followed, give the URL that it leads to"}
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500 && code < 600:
		return outcome{after: retryAfter(response.Header.Get("Retry-After"), now), words: words}
	}
	return outcome{final: true, words: words}
}

// retryAfter reads seconds or a time.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), longestRetryAfter))
	}
	return 0
}

// cause returns why there was no answer, in words that have nothing from outside: errors of clients
// quote addresses, and those of servers whatever they please.
func cause(err error) string {
	var resolve *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var wrongName x509.HostnameError
	var timeout net.Error
	switch {
	case errors.Is(err, errAddress):
		return "the address is link-local, loopback or a metadata service of a cloud, which is not allowed"
	case errors.As(err, &resolve):
		return "the name of the server can't be resolved"
	case errors.As(err, &untrusted), errors.As(err, &wrongName):
		return "the certificate of the server is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "the server did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the controller is stopping"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server refuses connections"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	}
	return "the request failed"
}
