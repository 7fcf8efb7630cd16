package measure

import (
	"context"
	"io"
	"net/http"
)

// smallAnswer is the size of an answer that takes no room of its own.
const smallAnswer = 64 << 10

// room is room for one large answer while it is read and decoded. Only one query may use it.
type room struct {
	of   []chan struct{}
	held int // so many of them
}

type roomKey struct{}

// take waits for room.
func (r *room) take(ctx context.Context) error {
	for r.held < len(r.of) {
		select {
		case r.of[r.held] <- struct{}{}:
			r.held++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// free gives the room back.
func (r *room) free() {
	for ; r.held > 0; r.held-- {
		<-r.of[r.held-1]
	}
}

// patient is the body of an answer that waits for room once it turns out to be large, so that a
// server which sends nothing takes none.
type patient struct {
	io.ReadCloser

	request *http.Request
	small   int // that may be read without room
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	r, is := p.request.Context().Value(roomKey{}).(*room)
	if !is {
		return p.ReadCloser.Read(b)
	}
	if p.small <= 0 {
		if err := r.take(p.request.Context()); err != nil {
			return 0, err
		}
		return p.ReadCloser.Read(b)
	}
	n, err := p.ReadCloser.Read(b[:min(len(b), p.small)])
	p.small -= n
	return n, err
}
