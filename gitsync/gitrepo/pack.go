package gitrepo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// object is a Git object. It is not changed once it is made.
type object struct {
	kind plumbing.ObjectType
	size int64
	// data is nil where the object was not kept.
	data []byte
	// entries of a tree, sorted by name.
	entries []entry
}

type objects map[plumbing.Hash]*object

// unpacker reads a pack. go-git's own parser inflates whatever size a pack
// declares; this one checks sizes first, and does not keep what nobody will read.
type unpacker struct {
	limits Limits
	// account counts the memory of the objects.
	account *account
	// base returns objects that the server knows us to have, for thin packs.
	base func(plumbing.Hash) *object
	// commitsOnly drops trees and files, and withoutFiles drops files.
	commitsOnly, withoutFiles bool

	// nameless is set when files of unknown hash were dropped, also the deltas of a file that is too
	// large.
	nameless bool

	objects  objects
	offsets  map[int64]*object
	waiting  []delta
	inflated int64
}

// objectBytes is what an object takes beside its content: a struct, and places in two maps.
const objectBytes = 256

// delta is an object that waits for the one it is a change of.
type delta struct {
	offset int64
	header packfile.ObjectHeader
	change []byte
}

// deltaRounds bounds how often deltas that come before their bases are tried
// again. Git writes bases first.
const deltaRounds = 50

func (u *unpacker) read(pack io.Reader) (objects, error) {
	u.objects, u.offsets = objects{}, map[int64]*object{}
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if err != nil {
		return nil, err
	}
	if int64(count) > int64(u.limits.Objects) {
		return nil, newError(LimitExceeded, "the pack holds %d objects; the limit is %d", count, u.limits.Objects)
	}
	for range count {
		if err := u.next(scanner); err != nil {
			return nil, err
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return nil, err
	}
	return u.objects, u.resolve()
}

func (u *unpacker) next(scanner *packfile.Scanner) error {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if u.inflated += header.Length; header.Length < 0 || u.inflated > u.limits.InflatedBytes {
		return newError(LimitExceeded, "the objects of the pack are larger than the limit of %s", bytesText(u.limits.InflatedBytes))
	}
	if err := u.account.spend(objectBytes); err != nil {
		return err
	}
	if header.Type.IsDelta() {
		return u.nextDelta(scanner, *header)
	}
	return u.nextWhole(scanner, *header)
}

func (u *unpacker) nextWhole(scanner *packfile.Scanner, header packfile.ObjectHeader) error {
	wanted, err := u.wanted(header.Type, header.Length)
	if err != nil {
		return err
	}
	if !wanted {
		hasher := plumbing.NewHasher(header.Type, header.Length)
		if _, _, err := scanner.NextObject(hasher); err != nil {
			return err
		}
		u.add(hasher.Sum(), header.Offset, &object{kind: header.Type, size: header.Length})
		return nil
	}
	data, err := inflate(scanner, header.Length)
	if err != nil {
		return err
	}
	u.store(header.Offset, header.Type, data)
	return nil
}

func (u *unpacker) nextDelta(scanner *packfile.Scanner, header packfile.ObjectHeader) error {
	if header.Length > treeBytes { // the change of a file that is too large itself
		_, _, err := scanner.NextObject(io.Discard)
		u.nameless = true
		u.offsets[header.Offset] = &object{kind: plumbing.BlobObject, size: header.Length}
		return err
	}
	change, err := inflate(scanner, header.Length)
	if err != nil {
		return err
	}
	d := delta{header.Offset, header, change}
	done, err := u.apply(d)
	if err != nil || done {
		return err
	}
	u.waiting = append(u.waiting, d)
	return u.account.spend(header.Length)
}

// resolve applies the deltas whose bases came after them.
func (u *unpacker) resolve() error {
	for range deltaRounds {
		left := u.waiting[:0]
		for _, d := range u.waiting {
			done, err := u.apply(d)
			if err != nil {
				return err
			}
			if !done {
				left = append(left, d)
			}
		}
		if u.waiting = left; len(left) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: a delta has no base", packfile.ErrMalformedPackFile)
}

// apply makes a delta's object, if its base is there.
func (u *unpacker) apply(d delta) (bool, error) {
	base := u.baseOf(d.header)
	if base == nil {
		return false, nil
	}
	size, err := resultSize(d.change)
	if err != nil {
		return false, err
	}
	wanted, err := u.wanted(base.kind, size)
	if err != nil {
		return false, err
	}
	if base.data == nil || !wanted {
		u.nameless = true
		u.offsets[d.offset] = &object{kind: base.kind, size: size}
		return true, nil
	}
	data, err := packfile.PatchDelta(base.data, d.change)
	if err != nil {
		return false, err
	}
	u.store(d.offset, base.kind, data)
	return true, nil
}

func (u *unpacker) baseOf(header packfile.ObjectHeader) *object {
	if header.Type == plumbing.OFSDeltaObject {
		return u.offsets[header.OffsetReference]
	}
	if o := u.objects[header.Reference]; o != nil {
		return o
	}
	return u.base(header.Reference)
}

// wanted reports whether an object is worth its memory, and takes that from the rest. A needed
// object that is too large is an error.
func (u *unpacker) wanted(kind plumbing.ObjectType, size int64) (bool, error) {
	switch {
	case u.commitsOnly && kind != plumbing.CommitObject, u.withoutFiles && kind == plumbing.BlobObject:
		return false, nil
	case kind == plumbing.BlobObject && size > u.limits.FileBytes:
		return false, nil
	case size > treeBytes:
		return false, newError(LimitExceeded, "the pack holds a %s of more than %s", kind, bytesText(treeBytes))
	}
	return true, u.account.spend(size)
}

func (u *unpacker) store(offset int64, kind plumbing.ObjectType, data []byte) {
	o := &object{kind: kind, size: int64(len(data)), data: data}
	u.add(plumbing.ComputeHash(kind, data), offset, o)
}

func (u *unpacker) add(hash plumbing.Hash, offset int64, o *object) {
	u.objects[hash] = o
	u.offsets[offset] = o
}

// inflate reads one object of a size that was checked before.
func inflate(scanner *packfile.Scanner, size int64) ([]byte, error) {
	buffer := bytes.NewBuffer(make([]byte, 0, min(size, 1<<20)))
	n, _, err := scanner.NextObject(buffer)
	if err == nil && n != size {
		err = fmt.Errorf("%w: an object is shorter than declared", packfile.ErrMalformedPackFile)
	}
	return buffer.Bytes(), err
}

// resultSize reads how large the result of a delta is: the second of the two
// numbers that it starts with.
func resultSize(change []byte) (int64, error) {
	_, n := binary.Uvarint(change)
	if n <= 0 {
		return 0, packfile.ErrInvalidDelta
	}
	size, m := binary.Uvarint(change[n:])
	if m <= 0 || size > 1<<40 {
		return 0, packfile.ErrInvalidDelta
	}
	return int64(size), nil
}
