package gitrepo

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
)

// meter limits what one exchange may receive. It remembers that a limit was
// hit, because go-git does not keep the identity of the errors it passes on.
type meter struct {
	limits Limits
	// branch is the one that is looked for in the list of references.
	branch plumbing.ReferenceName
	hit    atomic.Pointer[Error]
	// begun is set once the pack itself is read.
	begun atomic.Bool
}

// preambleBytes limits what a server says before the pack: which commits are without their parents,
// and which it has in common with us. That is a line or two in what we ask for, and go-git keeps
// all of them.
const preambleBytes = 1 << 20

// answer limits what comes before the pack.
func (m *meter) answer(r io.Reader) io.Reader {
	return &preambleReader{all: r, preamble: m.cap(r, preambleBytes, "what the server says before the pack"), meter: m}
}

// preambleReader has a limit until the pack is read, which has a limit of its own.
type preambleReader struct {
	all, preamble io.Reader
	meter         *meter
}

func (p *preambleReader) Read(b []byte) (int, error) {
	if p.meter.begun.Load() {
		return p.all.Read(b)
	}
	return p.preamble.Read(b)
}

// cap returns r cut off, with an error, after n bytes.
func (m *meter) cap(r io.Reader, n int64, what string) io.Reader {
	return &cappedReader{reader: r, left: n, size: n, what: what, meter: m}
}

// refs limits a list of references, and leaves out of it what nobody asks for.
func (m *meter) refs(list io.Reader) io.Reader {
	return &refsFilter{from: m.cap(list, m.limits.AdvertisementBytes, "the list of references"), branch: m.branch, refuse: m.hit.Store}
}

// explain returns the limit that was hit, and err if there was none.
func (m *meter) explain(err error) error {
	if hit := m.hit.Load(); hit != nil && err != nil {
		return hit
	}
	return err
}

type cappedReader struct {
	reader     io.Reader
	left, size int64
	what       string
	meter      *meter
}

func (c *cappedReader) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	if c.left -= int64(n); c.left >= 0 {
		return n, err
	}
	limit := newError(LimitExceeded, "%s is larger than the limit of %s", c.what, bytesText(c.size))
	c.meter.hit.Store(limit)
	return 0, limit
}

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
