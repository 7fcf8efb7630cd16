package devforge

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// deliveryTimeout is how long GitHub waits for an answer.
	deliveryTimeout = 10 * time.Second
	// maxResponse is how much of an answer is kept.
	maxResponse = 64 << 10
)

// Delivery is one request to a hook, with what it was answered.
type Delivery struct {
	// GUID is X-GitHub-Delivery; a redelivery has that of the first.
	GUID string
	// Event is X-GitHub-Event, Action the payload's, if it has one.
	Event, Action string
	// Repository is owner/name, Hook the hook's id.
	Repository string
	Hook       int64
	// Payload is the JSON, before it was signed or put into a form.
	Payload []byte
	// Header is the header of the request.
	Header http.Header
	// Status and Response are the answer; Status is 0 and Err set if there was none.
	Status   int
	Response string
	Err      error
	// Sent and Duration say when, and how long it took.
	Sent     time.Time
	Duration time.Duration
	// Redelivery is set for those that Redeliver made.
	Redelivery bool
}

// dispatcher sends what hooks are to get. Each hook has its own queue, so that what it gets is in
// order and a slow one keeps nobody waiting.
type dispatcher struct {
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	ctx    context.Context //nolint:containedctx // it ends with the dispatcher
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	done   []Delivery
	queued int
	// idle is closed when nothing is queued, and replaced when something is.
	idle chan struct{}
}

// queue holds the deliveries that one hook has not received yet.
type queue struct {
	mu      sync.Mutex
	waiting []delivery
	wake    chan struct{}
}

// delivery is one that has not been sent.
type delivery struct {
	Delivery

	hook *hook
	// secret is the hook's when the delivery was queued.
	secret string
}

func newDispatcher(log *slog.Logger, now func() time.Time) *dispatcher {
	ctx, cancel := context.WithCancel(context.Background())
	idle := make(chan struct{})
	close(idle)
	return &dispatcher{
		client: &http.Client{
			Timeout:       deliveryTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		log: log, now: now, ctx: ctx, cancel: cancel, idle: idle,
	}
}

// close drops what is queued and waits for what is in progress to be given up.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.wg.Wait()
	d.client.CloseIdleConnections()
}

func (d *dispatcher) newQueue() *queue {
	q := &queue{wake: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() == nil {
		d.wg.Go(func() { d.work(q) })
	}
	return q
}

// deliver queues an event for a hook.
func (f *Forge) deliver(repo *repository, h *hook, e event) {
	body, err := json.Marshal(e.payload)
	if err != nil {
		panic(fmt.Sprintf("encode payload: %v", err)) // it is made of maps, lists and plain values
	}
	action, _ := e.payload["action"].(string)
	f.deliveries.enqueue(delivery{hook: h, secret: h.secret, Delivery: Delivery{
		GUID: newGUID(), Event: e.name, Action: action, Repository: repo.fullName(), Hook: h.id, Payload: body,
	}})
}

// newGUID returns a random UUID.
func newGUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (d *dispatcher) enqueue(next delivery) {
	d.mu.Lock()
	if d.queued == 0 {
		d.idle = make(chan struct{})
	}
	d.queued++
	d.mu.Unlock()
	q := next.hook.queue
	q.mu.Lock()
	q.waiting = append(q.waiting, next)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
}

func (d *dispatcher) work(q *queue) {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-q.wake:
		}
		for next, found := q.take(); found; next, found = q.take() {
			d.finish(d.send(next))
		}
	}
}

func (q *queue) take() (delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return delivery{}, false
	}
	next := q.waiting[0]
	q.waiting = q.waiting[1:]
	return next, true
}

func (d *dispatcher) finish(sent Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, sent)
	d.queued--
	if d.queued == 0 {
		close(d.idle)
	}
}

// send makes the request, once: like GitHub, it does not try again.
func (d *dispatcher) send(next delivery) Delivery {
	sent := next.Delivery
	sent.Sent = d.now()
	r, err := next.request(d.ctx)
	if err != nil {
		sent.Err = err
		return sent
	}
	r.Header.Set("X-Github-Event", sent.Event)
	r.Header.Set("X-Github-Delivery", sent.GUID)
	r.Header.Set("X-Github-Hook-Id", strconv.FormatInt(sent.Hook, 10))
	r.Header.Set("X-Github-Hook-Installation-Target-Type", "repository")
	sent.Header = r.Header.Clone()
	start := time.Now()
	sent.Status, sent.Response, sent.Err = d.exchange(r)
	sent.Duration = time.Since(start)
	if sent.Err != nil && d.ctx.Err() == nil {
		d.log.Warn("cannot deliver", "hook", sent.Hook, "event", sent.Event, "error", sent.Err)
	}
	return sent
}

// request returns what a hook gets.
func (d delivery) request(ctx context.Context) (*http.Request, error) {
	contentType, body := "application/json", d.Payload
	if d.hook.contentType != "json" {
		contentType = "application/x-www-form-urlencoded"
		body = []byte(url.Values{"payload": {string(body)}}.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.hook.url, strings.NewReader(string(body)))
	if err != nil {
		return nil, fmt.Errorf("make delivery: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "GitHub-Hookshot/devforge")
	if d.secret != "" {
		r.Header.Set("X-Hub-Signature-256", "sha256="+sign(d.secret, body))
	}
	return r, nil
}

func (d *dispatcher) exchange(r *http.Request) (status int, body string, err error) {
	response, err := d.client.Do(r)
	if err != nil {
		return 0, "", fmt.Errorf("deliver: %w", err)
	}
	defer response.Body.Close()
	kept, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	return response.StatusCode, string(kept), err
}

// sign returns the HMAC that a receiver checks.
func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Deliveries returns all requests to hooks that have ended, in the order in which they ended.
func (f *Forge) Deliveries() []Delivery {
	f.deliveries.mu.Lock()
	defer f.deliveries.mu.Unlock()
	return slices.Clone(f.deliveries.done)
}

// WaitDeliveries returns when no hook has anything left to get, or when the context ends.
func (f *Forge) WaitDeliveries(ctx context.Context) error {
	f.deliveries.mu.Lock()
	idle := f.deliveries.idle
	f.deliveries.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for deliveries: %w", ctx.Err())
	case <-f.deliveries.ctx.Done():
		return errors.New("wait for deliveries: forge is closed")
	}
}

// Redeliver sends a delivery again, under the same GUID, as a person may ask GitHub to do.
func (f *Forge) Redeliver(ctx context.Context, guid string) error {
	for _, sent := range f.Deliveries() {
		if sent.GUID != guid {
			continue
		}
		repo, err := f.repository(ctx, sent.Repository)
		if err != nil {
			return fmt.Errorf("redeliver: %w", err)
		}
		return f.redeliver(repo, sent)
	}
	return fmt.Errorf("redeliver %s: %w", guid, ErrUnknown)
}

func (f *Forge) redeliver(repo *repository, sent Delivery) error {
	repo.mu.Lock()
	defer repo.mu.Unlock()
	for _, h := range repo.hooks {
		if h.id == sent.Hook {
			sent.Redelivery = true
			f.deliveries.enqueue(delivery{hook: h, secret: h.secret, Delivery: sent})
			return nil
		}
	}
	return fmt.Errorf("redeliver to hook %d: %w", sent.Hook, ErrUnknown)
}
