package gitrepo

import (
	"bytes"
	"crypto/sha256"
	"io"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
)

// refsFilter passes the references that a read of one branch needs, so that a list of any length
// costs no memory: the lines before the first reference, that reference, which has the capabilities
// of the server, and the branch. Other content passes unchanged.
type refsFilter struct {
	from   io.Reader
	branch plumbing.ReferenceName

	// left holds filtered bytes that no caller has read yet.
	left []byte
	// refuse is called with the reason where the list is of no use, whatever the reader of it makes of
	// that.
	refuse func(*Error)
	// begun is set after the first reference, and done after the flush that ends the list.
	begun, done bool
	line        [pktMax]byte
}

// errSHA256 says that go-git, which cuts the names of objects, would fetch others.
var errSHA256 = newError(Invalid, "the repository has object names of SHA-256, which are not supported here: "+
	"use one of SHA-1 (git init --object-format=sha1), the default of all forges")

// pktMax is the size of the longest line that a server may send.
const pktMax = 65520

// Read implements io.Reader.
func (f *refsFilter) Read(p []byte) (int, error) {
	for len(f.left) == 0 {
		if f.done {
			return f.from.Read(p)
		}
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	return n, nil
}

// next reads a line.
func (f *refsFilter) next() error {
	n, err := io.ReadFull(f.from, f.line[:4])
	if err != nil {
		f.left, f.done = f.line[:n], true
		if n > 0 {
			return nil // the error comes with the next
		}
		return err
	}
	size, err := strconv.ParseUint(string(f.line[:4]), 16, 16)
	if err != nil || size > pktMax || size > 0 && size < 4 {
		f.left, f.done = f.line[:4], true
		return nil //nolint:nilerr // it is no list: whoever reads it says so
	}
	if size == 0 {
		// Over HTTP a flush stands behind the name of the service as well.
		f.left, f.done = f.line[:4], f.begun
		return nil
	}
	if n, err = io.ReadFull(f.from, f.line[4:size]); err != nil {
		f.left, f.done = f.line[:4+n], true
		return nil //nolint:nilerr // it comes again with the next read
	}
	if line := f.line[:size]; f.wanted(line[4:]) {
		f.left = line
	}
	return nil
}

func (f *refsFilter) wanted(line []byte) bool {
	if !f.begun {
		// The first reference has the capabilities behind its name; in a repository without any a made-up
		// one has.
		name, said, begun := bytes.Cut(line, []byte{0})
		f.begun = begun
		if begun && bytes.IndexByte(name, ' ') == 2*sha256.Size && bytes.Contains(said, []byte("object-format=sha256")) && f.refuse != nil {
			f.refuse(errSHA256)
		}
		return true
	}
	_, name, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	return !found || string(name) == string(f.branch)
}
