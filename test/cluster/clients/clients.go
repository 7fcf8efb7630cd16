// Package clients sends requests to a service, from several clients at a constant rate, and counts
// what comes of each. Every request is sent once: no second try hides a failure. Half of the
// clients keep their connection, the others make one for each request.
package clients

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// patience is how long an answer may take.
	patience = 10 * time.Second
	// keptFailures is how many failures are reported.
	keptFailures = 20
)

// Options say who sends what, and how often.
type Options struct {
	// URL is the target of requests, until To names another.
	URL string
	// Clients is how many clients there are. Each has one request at a time on its way.
	Clients int
	// Interval is the time from one request of a client to its next. A client whose answer takes longer
	// leaves out those that it is late for.
	Interval time.Duration
	// Header is that of each request; none if it is nil.
	Header http.Header
}

// A Load is clients that send requests.
type Load struct {
	options Options
	end     context.CancelFunc
	ended   sync.WaitGroup

	mu     sync.Mutex
	target *target
	counts Counts
}

// A target is an address that receives requests.
type target struct {
	url     string
	pending sync.WaitGroup // requests on their way; none is added once the load has another target
}

// Counts holds the results of requests.
type Counts struct {
	Sent     int            `json:"sent"`
	Failed   int            `json:"failed"`
	Failures []string       `json:"failures"` // the first of them
	Versions map[string]int `json:"versions"` // of those that answered, by what they said
	// Last is when the last request was sent that a version has answered.
	Last map[string]time.Time `json:"last"`
}

// Start starts clients that send requests until Stop, or the end of the context.
func Start(ctx context.Context, options Options) *Load {
	ctx, end := context.WithCancel(ctx)
	l := &Load{
		options: options, end: end, target: &target{url: options.URL},
		counts: Counts{Failures: []string{}, Versions: map[string]int{}, Last: map[string]time.Time{}},
	}
	for i := range options.Clients {
		// Evenly over the interval: together they are no bursts.
		after := options.Interval * time.Duration(i) / time.Duration(options.Clients)
		l.ended.Go(func() { l.send(ctx, after, i%2 == 0) })
	}
	return l
}

// To sends all requests from now on to another URL, and returns once each earlier request is
// answered and counted.
func (l *Load) To(url string) {
	l.mu.Lock()
	before := l.target
	l.target = &target{url: url}
	l.mu.Unlock()
	before.pending.Wait()
}

// next returns the target of the next request. The caller calls pending.Done once the request is
// answered and counted.
func (l *Load) next() *target {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target.pending.Add(1)
	return l.target
}

// Stop ends all clients, once those on their way have been answered.
func (l *Load) Stop() {
	l.end()
	l.ended.Wait()
}

// send sends one request after the other.
func (l *Load) send(ctx context.Context, after time.Duration, keep bool) {
	transport := &http.Transport{DisableKeepAlives: !keep}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return
	}
	for tick := time.NewTicker(l.options.Interval); ; {
		sent, to := time.Now(), l.next()
		version, err := l.ask(client, to.url)
		l.count(sent, version, err)
		to.pending.Done()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// ask sends a POST, which net/http does not send a second time by itself.
func (l *Load) ask(client *http.Client, url string) (version string, err error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader("order"))
	if err != nil {
		return "", err
	}
	maps.Copy(request.Header, l.options.Header)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return string(body), nil
}

func (l *Load) count(sent time.Time, version string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.counts
	c.Sent++
	if err == nil {
		c.Versions[version]++
		if sent.After(c.Last[version]) {
			c.Last[version] = sent
		}
		return
	}
	c.Failed++
	if len(c.Failures) < keptFailures {
		c.Failures = append(c.Failures, time.Now().UTC().Format("15:04:05.000")+" "+err.Error())
	}
}

// Counts returns what came of all requests so far.
func (l *Load) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.counts
	now.Failures, now.Versions, now.Last = slices.Clone(now.Failures), maps.Clone(now.Versions), maps.Clone(now.Last)
	return now
}

// Since returns what has come of requests since another count of the same load.
func (c Counts) Since(before Counts) Counts {
	since := Counts{
		Sent: c.Sent - before.Sent, Failed: c.Failed - before.Failed,
		Failures: c.Failures[len(before.Failures):], Versions: map[string]int{}, Last: c.Last,
	}
	for version, answers := range c.Versions {
		if more := answers - before.Versions[version]; more > 0 {
			since.Versions[version] = more
		}
	}
	return since
}

// Share returns how many of a hundred answers came from a version.
func (c Counts) Share(version string) float64 {
	all := 0
	for _, answers := range c.Versions {
		all += answers
	}
	if all == 0 {
		return 0
	}
	return 100 * float64(c.Versions[version]) / float64(all)
}
