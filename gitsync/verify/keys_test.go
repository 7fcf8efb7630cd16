package verify

import (
	"strings"
	"testing"
)

func TestKeysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ada, g := newSSH(t), newGPG(t)
	rose := g.export(t, g.key(t, "Rose <rose@example.com>", "ed25519", "never"))
	secret := g.gpg(t, "", "--armor", "--export-secret-keys")
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"# nobody\n", "no keys"},
		"no principal":       {ada.public, ":1: want PRINCIPALS"},
		"broken line":        {"ada " + ada.public + "\neve ssh-ed25519 AAAA", ":2: want PRINCIPALS"},
		"unknown option":     {`ada verify-required ` + ada.public, ":1: it has an unknown option"},
		"option twice":       {`ada valid-after="20260101",valid-after="20250101" ` + ada.public, "twice"},
		"no time":            {`ada valid-before="tomorrow" ` + ada.public, "a time that"},
		"no day":             {`ada valid-before="20260230" ` + ada.public, "a time that"},
		"private key":        {secret, "want blocks of OpenPGP public keys"},
		"text beside":        {rose + "ada " + ada.public, "something beside"},
		"cut short":          {rose[:len(rose)/2], "want blocks"},
		"broken block":       {strings.Replace(rose, "\n\n", "\n\nAAAA", 1), "read OpenPGP key"},
		"a signature":        {strings.ReplaceAll(g.gpg(t, "x", "--armor", "--detach-sign"), "SIGNATURE", "PUBLIC KEY BLOCK"), "read OpenPGP key"},
		"empty block":        {"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n-----END PGP PUBLIC KEY BLOCK-----\n", "read OpenPGP key"},
		"large":              {strings.Repeat("# a comment\n", MaxKeys/10), "more than"},
		"second block fails": {rose + strings.Replace(rose, "\n\n", "\n\nAAAA", 1), "read OpenPGP key"},
	} {
		keys, err := Read(map[string][]byte{"keys": []byte(c.text)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %+v, %v", name, c.want, keys, err)
		}
	}
	if _, err := Read(nil); err == nil {
		t.Error("want an error of no files")
	}
	keys, err := Read(map[string][]byte{"a": []byte(rose + "\n" + rose), "b": []byte("ada " + ada.public)})
	if err != nil || len(keys.pgp) != 2 || len(keys.ssh) != 1 {
		t.Errorf("want two OpenPGP keys and one of SSH, got %+v, %v", keys, err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(payload(when)), "-----BEGIN PGP SIGNATURE-----\n\niHUEABYKAB0=\n-----END PGP SIGNATURE-----", "ada ssh-ed25519 AAAA")
	f.Add([]byte("tree\n\n"), "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZQ==\n-----END PGP PUBLIC KEY BLOCK-----")
	f.Add([]byte(payload(when)), "-----BEGIN PGP SIGNATURE-----\n\n"+strings.Repeat("yAAA", 400)+"\n-----END PGP SIGNATURE-----", `a b="c",d "e`)
	f.Fuzz(func(t *testing.T, raw []byte, signature, keys string) {
		known, err := Read(map[string][]byte{"keys": []byte(keys)})
		if err != nil {
			known = &Keys{}
		}
		for _, c := range []Commit{commit(string(raw)), signed(string(raw), signature)} {
			if by, err := known.Check(c, when); err == nil {
				t.Errorf("%q counts as signed by %+v", c.Raw, by)
			}
		}
	})
}
