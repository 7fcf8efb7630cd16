package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// patience limits how long a command waits for the first byte of an answer of the API server.
const patience = 30 * time.Second

// answering fails requests that only read and that a server does not begin to answer for a while:
// behind a lost connection, or a proxy whose server is gone, they would wait without an end. An
// answer that has begun, such as a watch, may take any time.
func answering(within time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &answerer{next, within} }
}

type answerer struct {
	next   http.RoundTripper
	within time.Duration
}

// RoundTrip implements http.RoundTripper.
func (a *answerer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return a.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	late := time.AfterFunc(a.within, cancel)
	resp, err := a.next.RoundTrip(req.WithContext(ctx))
	if !late.Stop() && req.Context().Err() == nil {
		if err == nil {
			resp.Body.Close()
		}
		err = fmt.Errorf("no answer from the API server at %s within %s", req.URL.Host, a.within)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &endingBody{resp.Body, cancel}
	return resp, nil
}

// endingBody frees what a request holds once its answer is read.
type endingBody struct {
	io.ReadCloser

	end func()
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
