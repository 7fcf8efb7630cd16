package gitrepo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

const (
	anyHash   = "1111111111111111111111111111111111111111"
	otherHash = "2222222222222222222222222222222222222222"
)

// advertised returns a list of references with n that nobody asks for.
func advertised(t *testing.T, n int, lines ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	e := pktline.NewEncoder(&b)
	all := []string{anyHash + " HEAD\x00multi_ack ofs-delta\n"}
	for i := range n {
		all = append(all, fmt.Sprintf("%s refs/pull/%d/head\n", anyHash, i))
	}
	if err := e.EncodeString(append(all, lines...)...); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestListsOfReferencesCostNothing: of a list only what was requested is kept, however it arrives
// and whatever follows.
func TestListsOfReferencesCostNothing(t *testing.T) {
	t.Parallel()
	list := append(advertised(t, 10_000, otherHash+" refs/heads/main\n", otherHash+" refs/heads/main2\n", "shallow "+otherHash+"\n"), "PACK..."...)
	for name, from := range map[string]io.Reader{
		"at once": bytes.NewReader(list), "byte by byte": iotest.OneByteReader(bytes.NewReader(list)),
	} {
		filtered, err := io.ReadAll(&refsFilter{from: from, branch: "refs/heads/main"})
		if err != nil {
			t.Fatal(err)
		}
		if len(filtered) > 300 || !bytes.HasSuffix(filtered, []byte("0000PACK...")) {
			t.Errorf("%s: %d bytes are let through: %.400q", name, len(filtered), filtered)
		}
		refs := packp.NewAdvRefs()
		if err := refs.Decode(bytes.NewReader(filtered)); err != nil {
			t.Fatal(err)
		}
		if got := refs.References["refs/heads/main"].String(); got != otherHash {
			t.Errorf("%s: the branch is at %s", name, got)
		}
	}
}

// TestWhatIsNoListOfReferences passes as it is, for the errors that it makes.
func TestWhatIsNoListOfReferences(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "0", "000", "0000", "<html>", "0003", "fffff", "0010short", "001e# service=git-upload-pack\n0000", "0009ERR x", strings.Repeat("x", 1<<17),
	} {
		got, err := io.ReadAll(&refsFilter{from: strings.NewReader(text), branch: "refs/heads/main"})
		if err != nil || string(got) != text {
			t.Errorf("%.40q: got %.40q, %v", text, got, err)
		}
	}
}
