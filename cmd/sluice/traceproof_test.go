package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/proof"
)

// keyOf returns the key of a controller.
func keyOf(t *testing.T, seed byte) *proof.Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.NewChaCha8([32]byte{seed}))
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.ParseKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// statementOf returns a statement about a gate of release shop/web that passed some minutes after
// noon.
func statementOf(uid string, attempt int64, place proof.Place, minutes int) proof.Statement {
	at := time.Date(2026, 11, 30, 12, minutes, 0, 0, time.UTC)
	return proof.Statement{
		Commit: strings.Repeat("ab", 20), Source: "shop/main", Release: "shop/web", Gate: "web", Attempt: attempt,
		Predicate: proof.Gate{UID: uid, Revision: "7f9c", Gates: []proof.Place{"0.0", "1.0"}, Place: place, Opened: at, Decided: at, Evidence: []proof.Fact{}},
	}
}

// push commits a file onto the ref of the statements, as anyone may who pushes.
func (w *workingTree) push(file string, content []byte) {
	w.Helper()
	w.git("checkout", "--quiet", "-B", "work", "gates")
	w.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
	if err := os.MkdirAll(filepath.Join(w.root, path.Dir(file)), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.root, file), content, 0o600); err != nil {
		w.Fatal(err)
	}
	w.git("add", "--all")
	w.git("commit", "--quiet", "--allow-empty", "--message", "Gate")
	w.git("branch", "--force", "gates")
	w.git("update-ref", proof.Ref, "gates")
}

// TestPushedStatements: users who may push can't hide the statements about a release behind others,
// nor the last attempt behind earlier ones.
func TestPushedStatements(t *testing.T) {
	t.Parallel()
	key, foreign := keyOf(t, 1), keyOf(t, 2)
	sign := func(key *proof.Key, s proof.Statement) []byte {
		envelope, err := key.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	tree := newTree(t)
	tree.git("branch", "gates")
	keep := func(key *proof.Key, s proof.Statement) { tree.push(s.Path(), sign(key, s)) }
	for i, place := range []proof.Place{"0.0", "1.0", "2.0"} {
		keep(key, statementOf("before", 1, place, i)) // of an earlier release of that name
	}
	keep(key, statementOf("now", 1, "0.0", 5))
	keep(key, statementOf("now", 2, "0.0", 10))
	keep(key, statementOf("now", 2, "1.0", 20))
	want := []string{"1.0", "0.0"}

	other := statementOf("other", 9, "0.0", 50)
	other.Release = "shop/db"
	folder := proof.Folder("shop/web", "7f9c")
	for name, attack := range map[string]func(){
		"a statement of another release":    func() { tree.push(folder+"/9/0.0.json", sign(key, other)) },
		"one that nobody trusted signed":    func() { keep(foreign, statementOf("now", 9, "0.0", 50)) },
		"one of an earlier attempt again":   func() { keep(key, statementOf("now", 1, "0.0", 5)) },
		"one of an earlier release again":   func() { keep(key, statementOf("before", 1, "2.0", 2)) },
		"something else":                    func() { tree.push(folder+"/2/0.0.json", []byte("\x1b[2J")) },
		"a large file":                      func() { tree.push(folder+"/2/0.0.json", bytes.Repeat([]byte{' '}, 8<<20)) },
		"a file instead of the folder":      func() { tree.push(path.Dir(folder), []byte("x")) },
		"another statement in its own file": func() { tree.push(folder+"/2/1.0.json", sign(key, statementOf("now", 2, "0.0", 10))) },
	} {
		attack()
		local, err := gitrepo.OpenLocal(t.Context(), tree.root, os.Environ(), gitrepo.Limits{FileBytes: proof.MaxEnvelope})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, gate := range storedIn(local, "shop/web", "7f9c", key.Trusted()) {
			s, _, err := key.Trusted().Open(gate.Envelope)
			if err != nil || s.Predicate.UID != "now" || s.Attempt != 2 {
				t.Errorf("%s: want statements of attempt 2 alone, got %+v, %v", name, s, err)
			}
			got = append(got, string(s.Predicate.Place))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: want the statements on gates %v, got %v", name, want, got)
		}
	}
	local, err := gitrepo.OpenLocal(t.Context(), tree.root, os.Environ(), gitrepo.Limits{InflatedBytes: 10 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if got := storedIn(local, "shop/web", "7f9c", key.Trusted()); len(got) == 2 {
		t.Error("want the search ended at its limit, got all statements")
	}
}

// TestEndlessBundle: a bundle that is a link to a device does not fill the memory.
func TestEndlessBundle(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "web.json")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if _, err := readBundle(link); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("want it refused for its size, got %v", err)
	}
}

// TestHostileBundle: the texts of a bundle stay on their lines, and steer no terminal.
func TestHostileBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	keys := write("controllers", string(ssh.MarshalAuthorizedKey(keyOf(t, 1).Trusted()[0])))
	const hostile = `\u001b]0;owned\u0007\n::error::x\u202e`
	for i, text := range []string{
		`{"pod":{"metadata":{"namespace":"` + hostile + `","name":"` + hostile + `"},"spec":{"containers":[{"name":"` + hostile + `","image":"` + hostile + `"}]}},` +
			`"template":{"metadata":{"labels":{"` + hostile + `":"x"}},"spec":{"containers":[{"name":"` + hostile + `","image":"x@sha256:` + hostile + `"}]}},` +
			`"revision":"` + hostile + `","release":"` + hostile + `","gates":[{"envelope":{"payloadType":"` + hostile + `"}},{"envelope":{"` + hostile + `":1}}]}`,
		`{"pod":{"spec":{"containers":[{"name":"z.yaml","command":["` + hostile + `"]}]}},"template":{"spec":{"containers":[{"name":"z.yaml"}]}},"revision":"","release":"","gates":[]}`,
		`{"` + hostile + `":1}`, `{"pod":{"spec":{"activeDeadlineSeconds":"` + hostile + `"}}}`, `{"pod":{"metadata":{"creationTimestamp":"` + hostile + `"}}}`,
		`{"pod":{"spec":{"overhead":{"cpu":"` + hostile + `"}}}}`, `{"pod":{"spec":{"overhead":{"cpu":"` + hostile + `1e99999"}}}}`,
	} {
		for _, output := range []string{"", "--output=json", "--output=yaml"} {
			args := []string{"trace", "--verify", "--attestation-keys", keys, "--bundle", write("bundle.json", text)}
			if output != "" {
				args = append(args, output)
			}
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), args, &stdout, &stderr); code == exitOK {
				t.Errorf("bundle %d: want it not proven", i)
			}
			wantHarmless(t, args, stdout.String()+stderr.String(), false)
		}
	}
}
