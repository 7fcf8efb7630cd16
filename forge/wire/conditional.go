package wire

import (
	"bytes"
	"io"
	"net/http"

	"github.com/sluice-dev/sluice/internal/lru"
)

// conditional remembers answers and asks whether they are still good. GitHub does not count a
// request that it answers "not modified".
type conditional struct {
	next http.RoundTripper
	// identity is a part of the key of an answer: accounts may see different answers.
	identity func() string
	answers  *answers
}

// answers holds answers by identity, media type and address.
type answers = lru.Cache[string, answer]

// RoundTrip implements http.RoundTripper. An answer from memory carries X-From-Cache.
func (t *conditional) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return t.next.RoundTrip(req)
	}
	key := t.identity() + " " + req.Header.Get("Accept") + " " + req.URL.String()
	known := t.answers.Get(key)
	if known.etag != "" {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", known.etag)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if known.etag != "" && resp.StatusCode == http.StatusNotModified {
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
	t.answers.Put(key, answer{etag: etag, header: resp.Header.Clone(), body: body}, int64(len(body)+len(key)+answerOverhead))
	return nil
}

// answer is an answer that was given once. It never changes.
type answer struct {
	etag   string
	header http.Header
	body   []byte
}

// answerOverhead is about what an answer takes in memory beside its body and its key.
const answerOverhead = 1024

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
