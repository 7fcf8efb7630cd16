package gitrepo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packed is one object of a pack as it is written.
type packed struct {
	kind    plumbing.ObjectType
	data    string
	base    plumbing.Hash // of a RefDelta
	back    int           // of an OffsetDelta: how many objects back its base is
	claimed int           // size in the header, if not the real one
}

func writePack(objects ...packed) []byte {
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, []uint32{2, uint32(len(objects))})
	var offsets []int
	for _, o := range objects {
		offsets = append(offsets, out.Len())
		size := len(o.data)
		if o.claimed != 0 {
			size = o.claimed
		}
		writeHeader(&out, o.kind, size)
		switch o.kind {
		case plumbing.REFDeltaObject:
			out.Write(o.base[:])
		case plumbing.OFSDeltaObject:
			writeOffset(&out, offsets[len(offsets)-1]-offsets[len(offsets)-1-o.back])
		}
		deflate := zlib.NewWriter(&out)
		_, _ = deflate.Write([]byte(o.data))
		_ = deflate.Close()
	}
	sum := sha1.Sum(out.Bytes())
	out.Write(sum[:])
	return out.Bytes()
}

func writeHeader(out *bytes.Buffer, kind plumbing.ObjectType, size int) {
	first := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	out.WriteByte(first)
}

func writeOffset(out *bytes.Buffer, n int) {
	text := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		text = append([]byte{0x80 | byte(n&0x7f)}, text...)
	}
	out.Write(text)
}

// appended returns the delta that adds a tail to a base of n bytes.
func appended(n int, tail string) string {
	change := binary.AppendUvarint(nil, uint64(n))
	change = binary.AppendUvarint(change, uint64(n+len(tail)))
	change = append(change, 0x80|0x10|0x20, byte(n), byte(n>>8)) // copy n bytes from 0
	change = append(change, byte(len(tail)))
	return string(change) + tail
}

// repeated returns the delta that repeats the base n times.
func repeated(size, n int) string {
	change := binary.AppendUvarint(nil, uint64(size))
	change = binary.AppendUvarint(change, uint64(size*n))
	for range n {
		change = append(change, 0x80|0x10|0x20, byte(size), byte(size>>8))
	}
	return string(change)
}

var testLimits = Limits{InflatedBytes: 1 << 20, KeptBytes: 1 << 19, FileBytes: 1 << 16, Objects: 100}

func unpack(pack []byte, known objects) (objects, *unpacker, error) {
	account := newMemory(Options{Limits: testLimits}.withDefaults()).tryOpen(asker{}, -1, testLimits.KeptBytes)
	u := &unpacker{limits: testLimits, account: account, base: func(h plumbing.Hash) *object { return known[h] }}
	found, err := u.read(bytes.NewReader(pack))
	return found, u, err
}

func blobHash(text string) plumbing.Hash {
	return plumbing.ComputeHash(plumbing.BlobObject, []byte(text))
}

func TestUnpackResolvesDeltas(t *testing.T) {
	t.Parallel()
	outside := objects{blobHash("outside"): {kind: plumbing.BlobObject, size: 7, data: []byte("outside")}}
	ofs := func(back int, data string) packed {
		return packed{kind: plumbing.OFSDeltaObject, back: back, data: data}
	}
	ref := func(base, data string) packed {
		return packed{kind: plumbing.REFDeltaObject, base: blobHash(base), data: data}
	}
	base := packed{kind: plumbing.BlobObject, data: "base"}
	tests := []struct {
		name string
		pack []packed
		want []string
	}{
		{"offset", []packed{base, ofs(1, appended(4, "-1"))}, []string{"base", "base-1"}},
		{"offset on offset", []packed{base, ofs(1, appended(4, "-1")), ofs(1, appended(6, "-2"))}, []string{"base-1-2"}},
		{"reference", []packed{base, ref("base", appended(4, "-1"))}, []string{"base-1"}},
		{"thin", []packed{ref("outside", appended(7, "-1"))}, []string{"outside-1"}},
		{"base comes later", []packed{ref("base", appended(4, "-1")), base}, []string{"base-1"}},
		{"chain backwards", []packed{
			ref("base-1", appended(6, "-2")), ofs(1, appended(8, "-3")), ref("base", appended(4, "-1")), base,
		}, []string{"base-1-2-3"}},
	}
	for _, tt := range tests {
		found, _, err := unpack(writePack(tt.pack...), outside)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, want := range tt.want {
			if o := found[blobHash(want)]; o == nil || string(o.data) != want {
				t.Errorf("%s: %q is not among the objects", tt.name, want)
			}
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	k64 := strings.Repeat("x", 1<<16-1)
	many := make([]packed, 101)
	for i := range many {
		many[i] = packed{kind: plumbing.BlobObject, data: fmt.Sprint(i)}
	}
	kept := make([]packed, 10)
	for i := range kept {
		kept[i] = packed{kind: plumbing.BlobObject, data: k64[1:] + fmt.Sprint(i)}
	}
	broken := writePack(many[0])
	broken[len(broken)-1] ^= 1
	tests := []struct {
		name string
		pack []byte
		kind Kind
	}{
		{"too many", writePack(many...), LimitExceeded},
		{"too much to keep", writePack(kept...), LimitExceeded},
		{"too much to inflate", writePack(packed{kind: plumbing.BlobObject, data: "x", claimed: 1 << 30}), LimitExceeded},
		{"a tree that grows", writePack(packed{kind: plumbing.TreeObject, data: k64},
			packed{kind: plumbing.OFSDeltaObject, back: 1, data: repeated(1<<16-1, 1<<10)}), LimitExceeded},
		{"longer than declared", writePack(packed{kind: plumbing.BlobObject, data: "long", claimed: 2}), ""},
		{"shorter than declared", writePack(packed{kind: plumbing.BlobObject, data: "short", claimed: 9}), ""},
		{"no base", writePack(packed{kind: plumbing.REFDeltaObject, base: blobHash("?"), data: appended(1, "x")}), ""},
		{"its own base", writePack(packed{kind: plumbing.REFDeltaObject, base: blobHash("x"), data: appended(1, "x")}), ""},
		{"wrong checksum", broken, ""},
		{"cut short", writePack(many[:2]...)[:30], ""},
		{"nothing", nil, ""},
		{"no pack", []byte("<html>"), ""},
		{"delta without content", writePack(many[0], packed{kind: plumbing.OFSDeltaObject, back: 1, data: "\x01"}), ""},
	}
	for _, tt := range tests {
		if _, _, err := unpack(tt.pack, nil); err == nil || KindOf(err) != tt.kind {
			t.Errorf("%s: got %v of kind %q, want kind %q", tt.name, err, KindOf(err), tt.kind)
		}
	}
}

// TestUnpackDropsFilesThatGrow: a small pack must not become a large file.
func TestUnpackDropsFilesThatGrow(t *testing.T) {
	t.Parallel()
	base := strings.Repeat("x", 1<<15)
	found, u, err := unpack(writePack(
		packed{kind: plumbing.BlobObject, data: base},
		packed{kind: plumbing.OFSDeltaObject, back: 1, data: repeated(1<<15, 1<<12)},
		packed{kind: plumbing.OFSDeltaObject, back: 1, data: appended(1<<27, "more")},
	), nil)
	if err != nil || len(found) != 1 || !u.nameless {
		t.Errorf("got %d objects, nameless %t, %v; want the base only", len(found), u.nameless, err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(writePack(packed{kind: plumbing.BlobObject, data: "base"}, packed{kind: plumbing.OFSDeltaObject, back: 1, data: appended(4, "-1")}))
	f.Add(writePack(packed{kind: plumbing.REFDeltaObject, base: blobHash("base"), data: appended(4, "-1")}, packed{kind: plumbing.BlobObject, data: "base"}))
	f.Add(writePack(packed{kind: plumbing.TreeObject, data: "100644 a\x00" + strings.Repeat("h", 20)}))
	f.Add(writePack(packed{kind: plumbing.BlobObject, data: "x", claimed: 1 << 30}))
	f.Fuzz(func(t *testing.T, pack []byte) {
		found, u, err := unpack(pack, nil)
		if err != nil {
			return
		}
		var kept int64
		for hash, o := range found {
			kept += int64(len(o.data))
			if o.data != nil && plumbing.ComputeHash(o.kind, o.data) != hash {
				t.Errorf("object %s has another hash", hash)
			}
		}
		if kept > u.limits.KeptBytes {
			t.Errorf("kept %d bytes", kept)
		}
	})
}
