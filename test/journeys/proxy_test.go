package journeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between a controller and the API server, on loopback. It does to requests what
// networks do, and servers in trouble.
type proxy struct {
	w       *world
	through *httputil.ReverseProxy
	server  *httptest.Server

	mu sync.Mutex
	// bad is the answer to the next requests, left the number of them.
	bad  *badAnswer
	left int
	// stopped, if not nil, is closed when the controller goes on that is behind the proxy.
	stopped chan struct{}
	// held, once there is a write in hand, is closed when that may arrive; sent has the status that
	// answers it.
	held chan struct{}
	sent chan int
	// silent says that watches tell nothing; cuts end them.
	silent bool
	cuts   map[*http.Request]context.CancelFunc
	// expired are the paths at which the next watch is told that its revision is too old.
	expired map[string]bool
	// met counts the requests that have met something.
	met int
}

// badAnswer replaces the API server's answer to a request.
type badAnswer struct {
	code int
	// retryAfter is the header of this name; empty for none.
	retryAfter string
	// done says that the request is carried out all the same.
	done bool
	// cut says that the connection is closed without an answer.
	cut bool
	// any says that reads meet it too, and writes of statuses and events.
	any bool
}

// behindProxy has the controllers of the journey talk to the API server through a proxy from now
// on.
func (w *world) behindProxy() *proxy {
	w.Helper()
	cfg, err := w.access.Config()
	if err != nil {
		w.Fatal(err)
	}
	upstream, err := url.Parse(cfg.Host)
	if err != nil {
		w.Fatal(err)
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(cfg)) // the controller has a token of its own
	if err != nil {
		w.Fatal(err)
	}
	p := &proxy{w: w, cuts: map[*http.Request]context.CancelFunc{}, expired: map[string]bool{}}
	p.through = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1, // a watch tells what it has at once
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewServer(p)
	w.Cleanup(func() {
		p.goOn()
		p.server.CloseClientConnections()
		p.server.Close()
	})
	w.proxy = p
	return p
}

// config returns the configuration of a client that goes through the proxy.
func (p *proxy) config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Host, cfg.TLSClientConfig = p.server.URL, rest.TLSClientConfig{}
	return cfg
}

func (p *proxy) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Has("watch") {
		p.watch(answer, request)
		return
	}
	if p.holds(request) {
		return
	}
	switch bad := p.meets(request); {
	case bad == nil:
		p.through.ServeHTTP(answer, request)
	default:
		bad.answer(p, answer, request)
	}
}

// meet has the next requests meet something, as at least one must in the end.
func (p *proxy) meet(bad badAnswer, times int) {
	p.w.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.met == 0 {
			p.w.Errorf("no request has met what it was to meet")
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad, p.left = &bad, times
}

// meets returns the bad answer to a request; nil for the API server's.
func (p *proxy) meets(request *http.Request) *badAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || !p.bad.any && !p.w.changes(request) {
		return nil
	}
	p.left--
	p.met++
	return p.bad
}

func (b *badAnswer) answer(p *proxy, answer http.ResponseWriter, request *http.Request) {
	if b.done {
		p.through.ServeHTTP(httptest.NewRecorder(), request)
	}
	if b.cut {
		panic(http.ErrAbortHandler)
	}
	if b.retryAfter != "" {
		answer.Header().Set("Retry-After", b.retryAfter)
	}
	answer.Header().Set("Content-Type", "application/json")
	answer.WriteHeader(b.code)
	fmt.Fprintf(answer, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"the proxy says so"}`, b.code)
}

// stop stops the controller behind the proxy as SIGSTOP stops a process: nothing that it sends
// arrives, and nothing is answered. The write that it sends next is on its way already: it arrives
// when it is let through.
func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped, p.sent = make(chan struct{}), make(chan int, 1)
}

// holds reports whether a request was held up because the controller is stopped.
func (p *proxy) holds(request *http.Request) bool {
	p.mu.Lock()
	stopped, held := p.stopped, chan struct{}(nil)
	if stopped != nil && p.held == nil && p.w.changes(request) {
		held = make(chan struct{})
		p.held = held
		p.w.journal.nudge()
	}
	p.mu.Unlock()
	if stopped == nil {
		return false
	}
	if held == nil {
		select {
		case <-stopped:
		case <-request.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	p.deliver(request, held)
	return true
}

// deliver sends a write when it may arrive, whether anybody waits for its answer or not.
func (p *proxy) deliver(request *http.Request, held <-chan struct{}) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		p.w.Errorf("read the write in hand: %v", err)
	}
	<-held
	answer := httptest.NewRecorder()
	request = request.Clone(context.WithoutCancel(request.Context()))
	request.Body = io.NopCloser(bytes.NewReader(body))
	p.through.ServeHTTP(answer, request)
	p.sent <- answer.Code
}

// inHand wants the write to be on its way.
func (p *proxy) inHand(*scene) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		return errors.New("want a write in hand")
	}
	return nil
}

// letThrough has the write arrive that is in hand, and returns the status that answers it.
func (p *proxy) letThrough() int {
	p.w.Helper()
	close(p.held)
	p.held = nil
	select {
	case status := <-p.sent:
		return status
	case <-time.After(soon):
		p.w.Fatalf("the write in hand is not answered within %v", soon)
		return 0
	}
}

// goOn lets all go on that waits.
func (p *proxy) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
}

// silence has watches tell nothing until they are ended.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// endWatches ends all watches that there are. The next ones are told that what they ask for is too
// old, so that all is listed anew.
func (p *proxy) endWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = false
	for watch, cut := range p.cuts {
		p.expired[watch.URL.Path] = true
		cut()
	}
}

func (p *proxy) watch(answer http.ResponseWriter, request *http.Request) {
	p.mu.Lock()
	if p.expired[request.URL.Path] {
		delete(p.expired, request.URL.Path)
		p.mu.Unlock()
		gone := badAnswer{code: http.StatusGone}
		gone.answer(p, answer, request)
		return
	}
	ctx, cut := context.WithCancel(request.Context())
	p.cuts[request] = cut
	p.mu.Unlock()
	defer func() {
		cut()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.cuts, request)
	}()
	p.through.ServeHTTP(&mutable{answer, p}, request.WithContext(ctx))
}

// mutable is the answer to a watch.
type mutable struct {
	http.ResponseWriter
	proxy *proxy
}

func (m *mutable) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *mutable) Write(events []byte) (int, error) {
	m.proxy.mu.Lock()
	silent := m.proxy.silent
	if silent {
		m.proxy.met++
	}
	m.proxy.mu.Unlock()
	if silent {
		return len(events), nil
	}
	return m.ResponseWriter.Write(events)
}

// changes reports whether a request changes what the journal is about.
func (w *world) changes(request *http.Request) bool {
	path := request.URL.Path
	return request.Method != http.MethodGet && strings.Contains(path, "/namespaces/"+w.namespace+"/") &&
		!strings.Contains(path, "/events") && !strings.Contains(path, "/leases") && !strings.Contains(request.URL.RawQuery, "dryRun")
}
