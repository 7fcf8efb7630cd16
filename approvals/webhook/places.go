package webhook

import (
	"errors"
	"io"
	"net/netip"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/remote"
)

// Bytes of bodies that are in memory at once: of all requests, and of those from one address or for
// one source.
const (
	firstPiece = 4 << 10
	wholeBody  = maxBody + firstPiece // so that there is room to find the end of the largest
	roomOfAll  = 32 * wholeBody
	roomOfOne  = 16 * wholeBody
)

// errNoRoom says that other bodies take all the memory that bodies may take.
var errNoRoom = errors.New("too many bodies are in memory")

// places bound the memory that bodies take. A body takes no more than about twice what was sent of
// it, so that slow ones take next to nothing.
type places struct {
	mu    sync.Mutex
	taken int
	by    map[any]int
}

func newPlaces() *places { return &places{by: map[any]int{}} }

// read reads a body from an address for a source. Free gives back the memory, also after an error.
func (p *places) read(body io.Reader, address netip.Addr, source client.ObjectKey) (read []byte, free func(), err error) {
	of := []any{remote.Network(address), source}
	free = func() { p.free(of, cap(read)) }
	for {
		if len(read) == cap(read) {
			size := min(max(2*cap(read), firstPiece), wholeBody)
			if !p.take(of, size-cap(read)) {
				return read, free, errNoRoom
			}
			read = append(make([]byte, 0, size), read...)
		}
		n, err := body.Read(read[len(read):cap(read)])
		read = read[:len(read)+n]
		if errors.Is(err, io.EOF) {
			return read, free, nil
		}
		if err != nil {
			return read, free, err
		}
	}
}

// take takes some bytes. It reports false if not as many are left, or not for that address or
// source.
func (p *places) take(of []any, size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := func(one any) bool { return p.by[one]+size > roomOfOne }
	if p.taken+size > roomOfAll || slices.ContainsFunc(of, full) {
		return false
	}
	p.taken += size
	for _, one := range of {
		p.by[one] += size
	}
	return true
}

func (p *places) free(of []any, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= size
	for _, one := range of {
		if p.by[one] -= size; p.by[one] == 0 {
			delete(p.by, one)
		}
	}
}
