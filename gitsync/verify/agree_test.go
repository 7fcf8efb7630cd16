package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// odd returns commits as other tools make them. Git takes each of them, signed or not.
func odd() map[string]string {
	tag := "mergetag object " + emptyTree + "\n type commit\n tag v1\n tagger Ada <ada@example.com> 1750000000 +0000\n \n v1\n gpgsig no\n -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----"
	plain := payload(when)
	return map[string]string{
		"plain":          plain,
		"encoding":       payload(when, "encoding ISO-8859-1"),
		"mergetag":       payload(when, tag),
		"unknown":        payload(when, "HG:extra branch:x", "x-one", "x-two a  b "),
		"carriage":       payload(when, "x-cr value\r"),
		"not UTF-8":      strings.ReplaceAll(payload(when, "encoding latin1"), "change", "\xe4nderung"),
		"no message":     strings.TrimSuffix(plain, "change\n"),
		"no end of line": strings.TrimSuffix(plain, "\n"),
		"crlf message":   strings.ReplaceAll(plain, "change\n", "change\r\n\r\nmore\r\n"),
		"in message":     strings.ReplaceAll(plain, "change", "gpgsig -----BEGIN SSH SIGNATURE-----\n\ntree "+emptyTree),
		"old zone":       strings.ReplaceAll(plain, "+0000\n\n", "+051800\n\n"),
		"merge":          strings.Replace(plain, "author", "parent "+NameOf([]byte("a"))+"\nparent "+NameOf([]byte("b"))+"\nauthor", 1),
	}
}

// TestAgreesWithGit: git verify-commit takes what is taken here, and refuses what is refused here,
// as to bytes and signatures.
func TestAgreesWithGit(t *testing.T) {
	t.Parallel()
	repo, err := gittest.Init(t.TempDir(), "app")
	if err != nil {
		t.Fatal(err)
	}
	ada, eve, g := newSSH(t), newSSH(t), newGPG(t)
	rose := g.key(t, "Rose <rose@example.com>", "ed25519", "never", "--faked-system-time", "20260101T000000!")
	lines := "ada " + ada.public + "\n"
	keys := keysOf(t, map[string]string{"ssh": lines, "pgp": g.export(t, rose)})
	file := t.TempDir() + "/allowed_signers"
	run(t, nil, lines, "tee", file)
	git := func(c Commit) error {
		name := run(t, nil, string(c.Raw), "git", "-C", repo.Dir, "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
		if strings.TrimSpace(name) != c.Name {
			t.Fatalf("Git has another name for %q", c.Raw)
		}
		_, err := try(g.env, "", "git", "-C", repo.Dir, "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", c.Name)
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, text := range odd() {
		byAda, byRose := ada.sign(t, text), g.sign(t, text, rose, "--faked-system-time", "20260304T050607!")
		for how, c := range map[string]Commit{
			"SSH": signed(text, byAda), "OpenPGP": signed(text, byRose), "unknown key": signed(text, eve.sign(t, text)),
			"unsigned": commit(text), "first header": first(text, byAda), "changed": changed(r, signed(text, byAda)), "changed too": changed(r, signed(text, byRose)),
		} {
			_, ours := keys.Check(c, when.AddDate(0, 0, 1))
			if honest := how == "SSH" || how == "OpenPGP" || how == "first header"; honest != (ours == nil) {
				t.Errorf("%s, %s: want it to count: %t, got %v\n%q", name, how, honest, ours, c.Raw)
			}
			if theirs := git(c); (ours == nil) != (theirs == nil) {
				t.Errorf("%s, %s: want the same of both\nhere: %v\nGit: %v\n%q", name, how, ours, theirs, c.Raw)
			}
		}
	}
}

// first puts a signature before other headers, where hash-object may have it.
func first(payload, signature string) Commit {
	at := strings.Index(payload, "\ncommitter")
	at += 1 + strings.Index(payload[at+1:], "\n")
	return commit(payload[:at] + "\ngpgsig " + strings.ReplaceAll(strings.TrimSuffix(signature, "\n"), "\n", "\n ") + payload[at:])
}

// changed changes a letter of what is signed.
func changed(r *rand.Rand, c Commit) Commit {
	raw := slices.Clone(c.Raw)
	raw[len("tree ")+r.IntN(40)] ^= 1
	return commit(string(raw))
}

// TestAmbiguous has signed commits that readers of commits take for different ones.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	ada := newSSH(t)
	keys := keysOf(t, map[string]string{"allowed_signers": "ada " + ada.public})
	other := strings.Repeat("1", 40)
	plain := payload(when)
	for name, text := range map[string]string{
		"another tree after":      strings.Replace(plain, "\n\n", "\ntree "+other+"\n\n", 1),
		"two trees":               "tree " + other + "\n" + plain,
		"parent after":            strings.Replace(plain, "\n\n", "\nparent "+other+"\n\n", 1),
		"no committer":            strings.Replace(plain, "\ncommitter Ada", "\nx-committer Ada", 1),
		"two committers":          strings.Replace(plain, "\n\n", "\ncommitter Eve <eve@example.com> 1 +0000\n\n", 1),
		"two authors":             strings.Replace(plain, "committer", "author Eve <e> 1 +0000\ncommitter", 1),
		"time behind a bracket":   strings.Replace(plain, "> 177", "> 1 +0000> 177", 2),
		"a zero":                  strings.ReplaceAll(plain, "change", "cha\x00nge"),
		"a zero in a header":      strings.Replace(plain, "\n\n", "\nx a\x00b\n\n", 1),
		"short name":              strings.Replace(plain, emptyTree, emptyTree[:39], 1),
		"name with more":          strings.Replace(plain, emptyTree, emptyTree+"\r", 1),
		"signature of SHA-256":    strings.Replace(plain, "\n\n", "\ngpgsig-sha256 x\n y\n\n", 1),
		"something like gpgsig":   strings.Replace(plain, "\n\n", "\ngpgsigx x\n\n", 1),
		"continued before a tree": " x\n" + plain,
	} {
		_, err := keys.Check(signed(text, ada.sign(t, text)), when.AddDate(0, 0, 1))
		if err == nil {
			t.Errorf("%s: want it refused: %q", name, text)
		}
	}
	c := signed(plain, ada.sign(t, plain))
	check{name: "another name", commit: Commit{Name: strings.Repeat("0", 40), Raw: c.Raw}, why: "does not have its name", cause: Invalid}.run(t, keys)
	large := payload(when, "x "+strings.Repeat("x", maxCommit))
	check{name: "large", commit: signed(large, ada.sign(t, large)), why: fmt.Sprint(maxCommit), cause: Invalid}.run(t, keys)
}
