package github

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"
)

// conditional remembers answers and asks whether they are still good. GitHub does not count a
// request that it answers "not modified".
type conditional struct {
	next http.RoundTripper
	// identity is part of what an answer is remembered by: what one may see another may not.
	identity func() string
	answers  *lru
}

// RoundTrip implements http.RoundTripper. An answer from memory carries X-From-Cache.
func (t *conditional) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return t.next.RoundTrip(req)
	}
	key := t.identity() + " " + req.Header.Get("Accept") + " " + req.URL.String()
	known, found := t.answers.get(key)
	if found {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", known.etag)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if found && resp.StatusCode == http.StatusNotModified {
		return known.response(req), nil
	}
	return resp, t.remember(key, resp)
}

func (t *conditional) remember(key string, resp *http.Response) error {
	etag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || etag == "" {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	t.answers.put(answer{key: key, etag: etag, header: resp.Header.Clone(), body: body})
	return nil
}

// answer is an answer that was given once. It never changes.
type answer struct {
	key, etag string
	header    http.Header
	body      []byte
}

func (a answer) response(req *http.Request) *http.Response {
	header := a.header.Clone()
	header.Set("X-From-Cache", "1")
	return &http.Response{
		Status:        "200 OK",
		StatusCode:    http.StatusOK,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       req,
	}
}

// size is about what an answer takes in memory.
func (a answer) size() int { return len(a.body) + len(a.key) + 1024 }

// lru keeps the answers used last, up to a size in bytes.
type lru struct {
	limit int

	mu    sync.Mutex
	used  int
	byKey map[string]*list.Element
	// order holds the answers, the one used last in front.
	order *list.List
}

func newLRU(limit int) *lru {
	return &lru{limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
}

func (l *lru) get(key string) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, found := l.byKey[key]
	if !found {
		return answer{}, false
	}
	l.order.MoveToFront(element)
	return element.Value.(answer), true
}

func (l *lru) put(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, found := l.byKey[a.key]; found {
		l.drop(old)
	}
	if a.size() > l.limit {
		return
	}
	l.byKey[a.key] = l.order.PushFront(a)
	l.used += a.size()
	for l.used > l.limit {
		l.drop(l.order.Back())
	}
}

func (l *lru) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used, l.byKey = 0, map[string]*list.Element{}
	l.order.Init()
}

func (l *lru) drop(element *list.Element) {
	a := l.order.Remove(element).(answer)
	delete(l.byKey, a.key)
	l.used -= a.size()
}
