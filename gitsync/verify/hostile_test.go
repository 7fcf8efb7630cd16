package verify

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
)

// armored returns bytes as a block of OpenPGP.
func armored(t *testing.T, kind string, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, kind, nil)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHostilePackets: none of these is a signature, whatever follows or surrounds the good one, and
// none takes long.
func TestHostilePackets(t *testing.T) {
	t.Parallel()
	entity, err := openpgp.NewEntity("Ada", "", "ada@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return when.Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	var public, good bytes.Buffer
	plain := payload(when)
	if err := entity.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	if err := openpgp.DetachSign(&good, entity, strings.NewReader(plain), &packet.Config{Time: func() time.Time { return when }}); err != nil {
		t.Fatal(err)
	}
	keys := keysOf(t, map[string]string{"ada.asc": armored(t, openpgp.PublicKeyType, public.Bytes())})
	check{name: "good", commit: signed(plain, armored(t, openpgp.SignatureType, good.Bytes()))}.run(t, keys)

	compressed := append([]byte{0xa3, 0}, good.Bytes()...) // a packet of no length that holds the signature
	nested := bytes.Repeat([]byte{0xa3, 0}, 4000)
	partial := append([]byte{0xc2}, bytes.Repeat([]byte{0xe0, 0}, 4000)...)
	endless := []byte{0xc2, 0xff, 0xff, 0xff, 0xff, 0xff, 4}
	for name, data := range map[string][]byte{
		"nothing": nil, "compressed": compressed, "nested": nested, "in parts": partial, "longer than it is": endless,
		"twice": append(bytes.Clone(good.Bytes()), good.Bytes()...), "a key before it": append(bytes.Clone(public.Bytes()), good.Bytes()...),
		"a key after it": append(bytes.Clone(good.Bytes()), public.Bytes()...), "a byte after it": append(bytes.Clone(good.Bytes()), 0),
		"many": bytes.Repeat(good.Bytes(), 80), "cut": good.Bytes()[:good.Len()-1],
	} {
		began := time.Now()
		if by, err := keys.Check(signed(plain, armored(t, openpgp.SignatureType, data)), when.AddDate(0, 0, 1)); err == nil {
			t.Errorf("%s: counts as signed by %+v", name, by)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	block := armored(t, openpgp.SignatureType, good.Bytes())
	for name, text := range map[string]string{
		"text before": "x\n" + block, "text after": block + "\nx", "of another kind": strings.ReplaceAll(block, "SIGNATURE", "MESSAGE"),
		"no end": strings.Split(block, "-----END")[0], "long line": strings.ReplaceAll(block, "\n\n", "\n\n"+strings.Repeat("A", 4000)),
	} {
		if by, err := keys.Check(signed(plain, text), when.AddDate(0, 0, 1)); err == nil {
			t.Errorf("%s: counts as signed by %+v", name, by)
		}
	}
	for i := range good.Len() { // each bit counts, but for those that nothing signs
		data := bytes.Clone(good.Bytes())
		data[i] ^= 1
		if by, err := keys.Check(signed(plain, armored(t, openpgp.SignatureType, data)), when.AddDate(0, 0, 1)); err == nil && by.Key != fingerprint(entity.PrimaryKey) {
			t.Errorf("byte %d: counts as signed by %+v", i, by)
		}
	}
}

// TestManySubkeys: a key as large as is read takes no time that anybody notices.
func TestManySubkeys(t *testing.T) {
	t.Parallel()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}
	entity, err := openpgp.NewEntity("Ada", "", "ada@example.com", config)
	for range 45 {
		if err == nil {
			err = entity.AddSigningSubkey(config)
		}
	}
	var public bytes.Buffer
	if err == nil {
		err = entity.Serialize(&public)
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	keys := keysOf(t, map[string]string{"ada.asc": armored(t, openpgp.PublicKeyType, public.Bytes())})
	if took := time.Since(began); took > 5*time.Second || len(keys.pgp) != 1 {
		t.Errorf("reading %d keys took %v", len(keys.pgp), took)
	}
}

// TestForgeries changes a signed commit in a thousand ways. Git has another name for each, and none
// counts.
func TestForgeries(t *testing.T) {
	t.Parallel()
	ada := newSSH(t)
	keys := keysOf(t, map[string]string{"allowed_signers": "ada " + ada.public})
	plain := payload(when, "x-header value")
	good := signed(plain, ada.sign(t, plain))
	check{name: "good", commit: good}.run(t, keys)
	block, _ := pem.Decode([]byte(ada.sign(t, plain)))
	for i := range block.Bytes {
		data := bytes.Clone(block.Bytes)
		data[i] ^= 1
		c := signed(plain, string(pem.EncodeToMemory(&pem.Block{Type: sshsig.PEMType, Bytes: data})))
		if _, err := keys.Check(c, when); err == nil {
			t.Errorf("byte %d of the signature is changed, and it counts", i)
		}
	}
	text := string(good.Raw)
	begin, end := strings.Index(text, "gpgsig"), strings.Index(text, "\n\n")
	for i := range text {
		if i >= begin && i < end {
			continue
		}
		for _, by := range []byte{1, 2, 4, 32} {
			raw := []byte(text)
			raw[i] ^= by
			if _, err := keys.Check(commit(string(raw)), when); err == nil {
				t.Errorf("byte %d is changed, and it counts: %q", i, raw)
			}
		}
	}
}

// TestKeysAreNotQuoted: a Secret that holds something else is named by mistake, or by somebody who
// may not read it. No message has its content.
func TestKeysAreNotQuoted(t *testing.T) {
	t.Parallel()
	ada := newSSH(t)
	for i, text := range []string{
		"hunter2", "password: hunter2\n", "hunter2 hunter2 hunter2", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nhunter2\n-----END PGP PUBLIC KEY BLOCK-----",
		"-----BEGIN PGP hunter2", "ada hunter2 " + ada.public, `ada valid-after="hunter2" ` + ada.public, `ada namespaces="git" hunter2`,
	} {
		_, err := Read(map[string][]byte{fmt.Sprint(i): []byte(text)})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: want an error that does not quote it, got %v", text, err)
		}
	}
}
