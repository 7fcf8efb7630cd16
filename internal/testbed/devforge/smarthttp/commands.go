package smarthttp

import (
	"regexp"
	"strconv"
	"sync"
)

// Commands reads along with a push, which begins with what it wants of which ref: one packet
// for each, up to one that is empty. The pack that follows is of no interest here.
type Commands struct {
	mu   sync.Mutex
	rest []byte
	over bool
	refs []string
}

// command is what a packet says: the old and the new object, the ref, and after a zero byte what
// the client can do.
var command = regexp.MustCompile(`^[0-9a-f]{40} [0-9a-f]{40} (refs/[^\x00\n]+)`)

// Write takes the next part of the request.
func (p *Commands) Write(part []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.rest = append(p.rest, part...)
		p.readPackets()
	}
	return len(part), nil
}

func (p *Commands) readPackets() {
	const head = 4
	for len(p.rest) >= head {
		size, err := strconv.ParseUint(string(p.rest[:head]), 16, 16)
		if err != nil || size < head {
			p.over, p.rest = true, nil
			return
		}
		if len(p.rest) < int(size) {
			return
		}
		if found := command.FindSubmatch(p.rest[head:size]); found != nil {
			p.refs = append(p.refs, string(found[1]))
		}
		p.rest = p.rest[size:]
	}
}

// Named returns the refs that the push has named so far.
func (p *Commands) Named() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.refs...)
}
