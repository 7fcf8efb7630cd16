package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// Files by their names. A repository of which all files are more than is kept between fetches is
// read in two steps, where the server can do both: the folders, without any file
// (filter=blob:none); then the files that callers read, by the names of their objects, which only
// version 2 of Git's protocol lets a client ask for.

// blobConnector is a connector that asks for objects by their names.
type blobConnector interface {
	connector
	// ask sends a request of version 2 of the protocol, and returns the answer to it.
	ask(ctx context.Context, m *meter, request []byte) (io.ReadCloser, error)
}

// errNotServed says that a server has no answer to a request for objects by their names.
var errNotServed = errors.New("the server does not send objects by their names")

// mostBlobs limits the files of one request.
const mostBlobs = 50_000

// selects reports whether to request files one by one.
func (r *remote) selects(x *exchange) bool {
	_, can := r.connector.(blobConnector)
	return can && !r.unserved && x.refs.Capabilities.Supports(capability.Filter)
}

// fetchSelected reads the folders of the tip, and of its files those that the caller reads and that
// are not known.
func (r *remote) fetchSelected(ctx context.Context, x *exchange, known *Snapshot, q question, account *account) (*Snapshot, error) {
	a := &assembler{limits: r.limits, account: account, absent: notAsked}
	if known != nil {
		a.known = known.objects
	}
	if known == nil || known.hash != r.tip {
		req := newRequest(x.refs.Capabilities, r.tip, 1)
		filter(req, x.refs.Capabilities, packp.FilterBlobNone())
		if known != nil {
			have(req, known.hash)
		}
		var err error
		if a.fresh, err = x.pack(ctx, req, &unpacker{limits: r.limits, account: account, base: a.get}); err != nil {
			return nil, err
		}
	}
	head, err := a.snapshot(r.tip)
	if err != nil {
		return nil, err
	}
	head.selected = true
	wanted, err := wantedFiles(head.root, q.reads, r.limits.Objects)
	if err != nil || len(wanted) == 0 {
		return head, err
	}
	if err := r.fetchFiles(ctx, wanted, a, q); err != nil {
		return nil, err
	}
	head.bytes = a.bytes
	return head, nil
}

// wantedFiles returns the entries of files that are read and were not asked for, by their objects.
// Links are few and small, and are always read. A tree that names itself many times is walked so
// often, up to a limit.
func wantedFiles(root *object, reads func(string) bool, most int) (map[plumbing.Hash][]*entry, error) {
	wanted := map[plumbing.Hash][]*entry{}
	var walk func(tree *object, above string) error
	walk = func(tree *object, above string) error {
		if most -= len(tree.entries); most < 0 {
			return newError(LimitExceeded, "the repository has too many files")
		}
		for i := range tree.entries {
			e := &tree.entries[i]
			switch {
			case e.IsDir():
				if err := walk(e.object, above+e.name+"/"); err != nil {
					return err
				}
			case e.object != notAsked:
			case reads == nil || e.Type() != 0 || reads(above+e.name):
				wanted[e.hash] = append(wanted[e.hash], e)
			}
		}
		return nil
	}
	err := walk(root, "")
	if err == nil && len(wanted) > mostBlobs {
		err = newError(LimitExceeded, "more than %d files of the repository are read", mostBlobs)
	}
	return wanted, err
}

// fetchFiles fetches files, and puts them into their places. It drops other objects in the answer.
func (r *remote) fetchFiles(ctx context.Context, wanted map[plumbing.Hash][]*entry, a *assembler, q question) error {
	into := &unpacker{limits: r.limits, account: a.account, base: func(plumbing.Hash) *object { return nil }}
	sent, err := r.askFor(ctx, wanted, into, q)
	if err != nil {
		return err
	}
	for hash, entries := range wanted {
		o := sent[hash]
		switch {
		case o == nil && !into.nameless:
			return newError(Protocol, "the server did not send file %s, which it was asked for", hash)
		case o == nil:
			o = &object{kind: plumbing.BlobObject, size: r.limits.FileBytes + 1}
		case o.kind != plumbing.BlobObject:
			return newError(Protocol, "the server has a %s for file %s", o.kind, hash)
		}
		if err := a.add(hash, o); err != nil {
			return err
		}
		for _, e := range entries {
			e.object = o
		}
	}
	return nil
}

func (r *remote) askFor(ctx context.Context, wanted map[plumbing.Hash][]*entry, into *unpacker, q question) (found objects, err error) {
	x := &exchange{meter: &meter{limits: r.limits, branch: r.branch}, timeout: q.timeout}
	err = x.limited(ctx, func(ctx context.Context) error {
		answer, err := r.connector.(blobConnector).ask(ctx, x.meter, blobRequest(wanted)) //nolint:forcetypeassert // selects has checked it
		if err != nil {
			return err
		}
		defer answer.Close()
		if err := beginPack(answer); err != nil {
			return err
		}
		x.meter.begun.Store(true)
		pack := x.meter.cap(answer, r.limits.PackBytes, "the pack")
		found, err = into.read(sideband.NewDemuxer(sideband.Sideband64k, pack))
		return err
	})
	return found, err
}

// blobRequest returns the command fetch of version 2 of the protocol.
func blobRequest(wanted map[plumbing.Hash][]*entry) []byte {
	var request []byte
	line := func(format string, args ...any) {
		text := fmt.Sprintf(format+"\n", args...)
		request = fmt.Appendf(request, "%04x%s", len(text)+4, text)
	}
	line("command=fetch")
	line("agent=%s", capability.DefaultAgent())
	request = append(request, "0001"...)
	line("no-progress")
	line("ofs-delta")
	names := make([]string, 0, len(wanted))
	for hash := range wanted {
		names = append(names, hash.String())
	}
	slices.Sort(names)
	for _, name := range names {
		line("want %s", name)
	}
	line("done")
	return append(request, "0000"...)
}

// beginPack reads up to where the pack begins.
func beginPack(answer io.Reader) error {
	lines := pktline.NewScanner(answer)
	if lines.Scan() && string(lines.Bytes()) == "packfile\n" {
		return nil
	}
	var refused *pktline.ErrorLine
	switch err := lines.Err(); {
	case err == nil, errors.As(err, &refused), errors.Is(err, pktline.ErrInvalidPktLen):
		return errNotServed
	default:
		return err
	}
}

// hasAll reports whether the snapshot has all files that a caller reads.
func (s *Snapshot) hasAll(reads func(string) bool) bool {
	if !s.selected {
		return true
	}
	wanted, err := wantedFiles(s.root, reads, math.MaxInt)
	return err == nil && len(wanted) == 0
}
