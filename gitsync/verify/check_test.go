package verify

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// check is a commit, and what is wanted of it.
type check struct {
	name   string
	commit Commit
	// why is in the refusal; empty if the commit is to count.
	why   string
	cause Cause
	// now is when it is checked; by default a day after the commit.
	now time.Time
	// signer must be in the principal.
	signer string
}

func (c check) run(t *testing.T, keys *Keys) {
	t.Helper()
	if c.now.IsZero() {
		c.now = when.AddDate(0, 0, 1)
	}
	by, err := keys.Check(c.commit, c.now)
	if c.why == "" {
		if err != nil {
			t.Errorf("%s: want it to count, got: %v", c.name, err)
		} else if !strings.Contains(by.Principal, c.signer) {
			t.Errorf("%s: want signer %q, got %+v", c.name, c.signer, by)
		}
		return
	}
	refusal, is := errors.AsType[*RefusedError](err)
	if !is || refusal.Cause != c.cause || !strings.Contains(refusal.Why, c.why) {
		t.Errorf("%s: want it refused for %d, %q, got %+v, %v", c.name, c.cause, c.why, by, err)
	}
	if by != (Signer{}) {
		t.Errorf("%s: a refused commit has the signer %+v", c.name, by)
	}
}

func TestSSHSignatures(t *testing.T) {
	t.Parallel()
	ada, eve, ca := newSSH(t), newSSH(t), newSSH(t)
	ecdsa, rsa, weak := newSSH(t, "-t", "ecdsa"), newSSH(t, "-t", "rsa", "-b", "2048"), newSSH(t, "-t", "rsa", "-b", "1024")
	files, pattern, late, early := newSSH(t), newSSH(t), newSSH(t), newSSH(t)
	twice, forge := newSSH(t), newSSH(t)
	cert := newSSH(t)
	run(t, nil, "", "ssh-keygen", "-q", "-s", ca.file, "-I", "cert", "-n", "ada", cert.file+".pub")
	keys := keysOf(t, map[string]string{"allowed_signers": strings.Join([]string{
		"# people", "",
		"ada@example.com " + ada.public + " comment",
		`ec namespaces="git,file" ` + ecdsa.public, "rsa " + rsa.public, "weak " + weak.public,
		`ca cert-authority ` + ca.public,
		`files namespaces="file" ` + files.public, "*@example.com " + pattern.public,
		`late valid-after="20260401Z" ` + late.public, `early valid-before="202603050000Z" ` + early.public,
		`old valid-before="20200101" ` + twice.public, `"new key" valid-after="20260101120000" ` + twice.public,
	}, "\n"), "forge": "forge " + forge.public})
	plain := payload(when)
	for _, c := range []check{
		{name: "good", commit: signed(plain, ada.sign(t, plain)), signer: "ada@example.com"},
		{name: "SHA-256", commit: signed(plain, ada.sign(t, plain, "-n", "git", "-O", "hashalg=sha256"))},
		{name: "ECDSA", commit: signed(plain, ecdsa.sign(t, plain))},
		{name: "RSA", commit: signed(plain, rsa.sign(t, plain))},
		{name: "second line", commit: signed(plain, twice.sign(t, plain)), signer: "new key"},
		{name: "before it ends", commit: signed(plain, early.sign(t, plain)), now: when.Add(time.Hour)},
		{name: "unsigned", commit: commit(plain), why: "not signed", cause: NotSigned},
		{name: "unknown key", commit: signed(plain, eve.sign(t, plain)), why: eve.fingerprint(t), cause: NotTrusted},
		{name: "weak", commit: signed(plain, weak.sign(t, plain)), why: "1024 bits", cause: NotTrusted},
		{name: "authority", commit: signed(plain, ca.sign(t, plain)), why: "certificates", cause: NotTrusted},
		{name: "pattern", commit: signed(plain, pattern.sign(t, plain)), why: "pattern", cause: NotTrusted},
		{name: "listed for files", commit: signed(plain, files.sign(t, plain)), why: `namespaces "file"`, cause: NotTrusted},
		{name: "signed for files", commit: signed(plain, ada.sign(t, plain, "-n", "file")), why: "namespace", cause: Invalid},
		{name: "too early", commit: signed(plain, late.sign(t, plain)), why: "valid from 2026-04-01", cause: NotTrusted, now: when.AddDate(1, 0, 0)},
		{name: "expired, back-dated", commit: signed(plain, early.sign(t, plain)), why: "before now", cause: NotTrusted},
		{name: "forge", commit: signed(plain, forge.sign(t, plain)), why: "a key of the forge", cause: NeedsMerge},
		{name: "another commit's", commit: signed(payload(when.Add(time.Second)), ada.sign(t, plain)), why: "does not fit", cause: Invalid},
		{name: "twice", commit: signed(plain, ada.sign(t, plain), ada.sign(t, plain)), why: "several signatures", cause: Invalid},
		{name: "two in one header", commit: signed(plain, ada.sign(t, plain)+eve.sign(t, plain)), why: "something follows", cause: Invalid},
		{name: "something after", commit: signed(plain, ada.sign(t, plain)+"tree"), why: "something follows", cause: Invalid},
		{name: "x509", commit: signed(plain, "-----BEGIN SIGNED MESSAGE-----\n-----END SIGNED MESSAGE-----"), why: "neither", cause: Invalid},
		{name: "cut short", commit: signed(plain, ada.sign(t, plain)[:120]), why: "malformed", cause: Invalid},
		{name: "huge", commit: signed(plain, ada.sign(t, plain)+strings.Repeat("\nA", maxSignature)), why: "the limit is", cause: Invalid},
	} {
		c.run(t, keys)
	}
	file := cert.file + "-cert.pub"
	signature := run(t, nil, plain, "ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", cert.file)
	check{name: "key of a certificate", commit: signed(plain, signature), why: "not among", cause: NotTrusted}.run(t, keys)
	// ssh-keygen signs with a certificate only by an agent, so it is put into the signature here.
	check{name: "certificate", commit: signed(plain, withKey(t, signature, file)), why: "certificate", cause: NotTrusted}.run(t, keys)
}

func TestPGPSignatures(t *testing.T) {
	t.Parallel()
	g := newGPG(t)
	past := []string{"--faked-system-time", "20260101T000000!"}
	ada := g.key(t, "Ada <ada@example.com>", "ed25519", "never", past...)
	rsa := g.key(t, "Rose <rose@example.com>", "rsa2048", "never", past...)
	weak := g.key(t, "Will <will@example.com>", "rsa1024", "never", past...)
	dsa := g.key(t, "Dan <dan@example.com>", "dsa2048", "never", past...)
	short := g.key(t, "Sue <sue@example.com>", "ed25519", "20260305T000000", past...)
	gone := g.key(t, "Gus <gus@example.com>", "ed25519", "never", past...)
	sub := g.key(t, "Bob <bob@example.com>", "ed25519", "never", past...)
	eve := g.key(t, "Eve <eve@example.com>", "ed25519", "never", past...)
	forge := g.key(t, "Forge <forge@example.com>", "ed25519", "never", past...)
	young := g.key(t, "Yan <yan@example.com>", "ed25519", "never", "--faked-system-time", "20260401T000000!")
	g.gpg(t, "", append(past, "--quick-add-key", sub, "ed25519", "sign", "20260401T000000")...)
	at := []string{"--faked-system-time", "20260304T050607!"}
	plain := payload(when)
	by := func(key string, args ...string) Commit {
		return signed(plain, g.sign(t, plain, key+"!", append(at, args...)...))
	}
	before := by(gone)
	revoked := strings.ReplaceAll(run(t, g.env, "", "sh", "-c", `cat "$GNUPGHOME"/openpgp-revocs.d/`+gone+".rev"), ":-----", "-----")
	g.gpg(t, revoked, "--import")
	keys := keysOf(t, map[string]string{
		"people": g.export(t, ada, rsa, weak, dsa, short, gone) + g.export(t, sub, young), "forge.asc": g.export(t, forge),
	})
	good := by(ada)
	text := strings.Replace(string(good.Raw), "change", "chance", 1)
	for _, c := range []check{
		{name: "good", commit: good, signer: "Ada <ada@example.com>"},
		{name: "RSA", commit: by(rsa)},
		{name: "subkey", commit: signed(plain, g.sign(t, plain, sub, at...)), signer: "Bob"},
		{name: "subkey, expired", commit: signed(plain, g.sign(t, plain, sub, at...)), now: when.AddDate(0, 6, 0), why: "expired", cause: NotTrusted},
		{name: "weak", commit: by(weak), why: "1024 bits", cause: NotTrusted},
		{name: "DSA", commit: by(dsa), why: "DSA", cause: NotTrusted},
		{name: "SHA-1", commit: by(rsa, "--digest-algo", "SHA1", "--allow-weak-digest-algos"), why: "weak", cause: Invalid},
		{name: "before it expires", commit: by(short), now: when.Add(time.Hour)},
		{name: "expired, back-dated", commit: by(short), why: "has expired", cause: NotTrusted},
		{name: "revoked after", commit: before, why: "revoked", cause: NotTrusted, now: time.Now().AddDate(0, 0, 1)},
		{name: "unknown", commit: by(eve), why: eve, cause: NotTrusted},
		{name: "forge", commit: by(forge), why: "a key of the forge", cause: NeedsMerge},
		{name: "younger than the commit", commit: signed(plain, g.sign(t, plain, young+"!", "--faked-system-time", "20260402T000000!")),
			now: when.AddDate(0, 2, 0), why: "valid from 2026-04-01", cause: NotTrusted},
		{name: "from the future", commit: signed(plain, g.sign(t, plain, ada+"!", "--faked-system-time", "20270304T050607!")), why: "future", cause: NotTrusted},
		{name: "text", commit: by(ada, "--textmode"), why: "not one over a document", cause: Invalid},
		{name: "two signatures", commit: signed(plain, g.sign(t, plain, ada+"!", append(at, "--local-user", eve+"!")...)), why: "want one signature", cause: Invalid},
		{name: "two blocks", commit: signed(plain, g.sign(t, plain, ada+"!", at...)+g.sign(t, plain, ada+"!", at...)), why: "want one block", cause: Invalid},
		{name: "changed", commit: commit(text), why: "does not fit", cause: Invalid},
		{name: "a key as signature", commit: signed(plain, strings.ReplaceAll(g.export(t, ada), "PUBLIC KEY BLOCK", "SIGNATURE")), why: "can't be read", cause: Invalid},
		{name: "a message", commit: signed(plain, strings.ReplaceAll(g.gpg(t, plain, "--armor", "--sign", "--local-user", ada), "MESSAGE", "SIGNATURE")),
			why: "can't be read", cause: Invalid},
	} {
		c.run(t, keys)
	}
}

func TestWebFlow(t *testing.T) {
	t.Parallel()
	// What the pages of github.com made in 2024, with the key that it has since.
	keys := keysOf(t, map[string]string{"allowed_signers": "ada " + newSSH(t).public})
	if !keys.forges["968479A1AFF927E37D1A566BB5690EEEBB952194"] {
		t.Error("the key of GitHub's pages is none of a forge")
	}
}
