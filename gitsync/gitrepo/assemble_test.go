package gitrepo

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"
)

func (o objects) put(kind plumbing.ObjectType, data string) plumbing.Hash {
	hash := plumbing.ComputeHash(kind, []byte(data))
	o[hash] = &object{kind: kind, size: int64(len(data)), data: []byte(data)}
	return hash
}

func (o objects) commit(tree plumbing.Hash) plumbing.Hash {
	return o.put(plumbing.CommitObject, fmt.Sprintf("tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n", tree))
}

func treeLine(mode, name string, hash plumbing.Hash) string {
	return mode + " " + name + "\x00" + string(hash[:])
}

// TestTreeThatMultiplies: Ten levels of trees that each name the next one ten times are ten objects
// and 10^10 files.
func TestTreeThatMultiplies(t *testing.T) {
	t.Parallel()
	all := objects{}
	at := all.put(plumbing.TreeObject, treeLine("100644", "f", all.put(plumbing.BlobObject, "x")))
	for range 10 {
		var lines strings.Builder
		for i := range 10 {
			lines.WriteString(treeLine("40000", fmt.Sprint(i), at))
		}
		at = all.put(plumbing.TreeObject, lines.String())
	}
	a := &assembler{fresh: all, limits: Options{}.withDefaults().Limits}
	snapshot, err := a.snapshot(all.commit(at))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(snapshot.FS(), "1/2/3/4/5/6/7/8/9/0/f"); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestTreesThatNoHonestServerSends(t *testing.T) {
	t.Parallel()
	blob := plumbing.ComputeHash(plumbing.BlobObject, []byte("x"))
	trees := map[string]string{
		"parent":        treeLine("100644", "..", blob),
		"self":          treeLine("40000", ".", blob),
		"slash":         treeLine("100644", "a/../../b", blob),
		"no name":       treeLine("100644", "", blob),
		"no mode":       treeLine("", "a", blob),
		"cut short":     treeLine("100644", "a", blob)[:15],
		"missing file":  treeLine("100644", "a", plumbing.NewHash("01")),
		"missing tree":  treeLine("40000", "a", plumbing.NewHash("01")),
		"file as a dir": treeLine("40000", "a", blob),
	}
	for name, tree := range trees {
		all := objects{}
		all.put(plumbing.BlobObject, "x")
		a := &assembler{fresh: all, limits: Options{}.withDefaults().Limits}
		_, err := a.snapshot(all.commit(all.put(plumbing.TreeObject, tree)))
		if KindOf(err) != Protocol {
			t.Errorf("%s: got %v of kind %q, want kind Protocol", name, err, KindOf(err))
		}
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	all := objects{}
	blob := all.put(plumbing.BlobObject, "x")
	tree := all.put(plumbing.TreeObject, treeLine("100644", "caf\xe9.yaml", blob)+treeLine("100644", "ok", blob))
	a := &assembler{fresh: all, limits: Options{}.withDefaults().Limits}
	snapshot, err := a.snapshot(all.commit(tree))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(snapshot.FS(), "caf\uFFFD.yaml"); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestRelateNeverContradictsTheGraph: relate must agree with the full graph whenever it claims to
// know.
func TestRelateNeverContradictsTheGraph(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "commits")
		name := func(i int) plumbing.Hash { return plumbing.NewHash(fmt.Sprintf("%040x", i+1)) }
		full, seen := history{}, history{}
		for i := range n {
			var parents []plumbing.Hash
			if i > 0 {
				for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 2), rapid.ID[int]).Draw(t, "parents") {
					parents = append(parents, name(p))
				}
			}
			full.add(name(i), parents)
			if rapid.Bool().Draw(t, "seen") {
				seen.add(name(i), parents)
			}
		}
		head := name(rapid.IntRange(0, n-1).Draw(t, "head"))
		earlier := name(rapid.IntRange(0, n-1).Draw(t, "earlier"))
		want := apart
		if head == earlier || full.ancestors(head)[earlier] {
			want = descends
		}
		if got := full.relate(head, earlier); got != want {
			t.Fatalf("with the whole history: got %d, want %d", got, want)
		}
		if got := seen.relate(head, earlier); got != unknown && got != want {
			t.Fatalf("with part of the history: got %d, want %d or unknown", got, want)
		}
	})
}
