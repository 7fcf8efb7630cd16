package verify

import (
	"bytes"
	"cmp"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// addPGP reads armored keys, and returns their fingerprints. Its errors begin with a colon.
func (k *Keys) addPGP(text string) ([]string, error) {
	var made []string
	for rest := text; ; {
		before, from, found := strings.Cut(rest, "-----BEGIN PGP ")
		if strings.TrimSpace(before) != "" {
			return nil, errors.New(": there is something beside the blocks of OpenPGP keys: put other keys into a file of their own")
		}
		if !found {
			return made, nil
		}
		body, after, ended := strings.Cut(from, "-----END PGP PUBLIC KEY BLOCK-----")
		if !strings.HasPrefix(body, "PUBLIC KEY BLOCK-----") || !ended {
			return nil, errors.New(": want blocks of OpenPGP public keys, as gpg --export --armor prints them")
		}
		entities, err := readEntities("-----BEGIN PGP " + body + "-----END PGP PUBLIC KEY BLOCK-----\n")
		if err != nil {
			return nil, fmt.Errorf(": read OpenPGP key: %w", err)
		}
		for _, entity := range entities {
			made = append(made, fingerprint(entity.PrimaryKey))
			k.pgp = append(k.pgp, entity)
		}
		rest = after
	}
}

// readEntities reads the keys of a block. One that can't be read is an error, and not skipped.
func readEntities(text string) (openpgp.EntityList, error) {
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var all openpgp.EntityList
	packets := packet.NewReader(block.Body)
	for {
		entity, err := openpgp.ReadEntity(packets)
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, entity)
	}
}

func fingerprint(key *packet.PublicKey) string { return fmt.Sprintf("%X", key.Fingerprint) }

// weakHashes lists hashes for which others can make a second text.
var weakHashes = map[crypto.Hash]bool{0: true, crypto.MD5: true, crypto.SHA1: true, crypto.RIPEMD160: true}

// readSignature reads an armored signature: one, over bytes, without a weak digest.
func readSignature(text string) (*packet.Signature, []byte, error) {
	text = strings.TrimSpace(text)
	if strings.Count(text, "-----BEGIN ") != 1 || !strings.HasSuffix(text, "-----END PGP SIGNATURE-----") {
		return nil, nil, errors.New("want one block, and nothing around it")
	}
	block, err := armor.Decode(strings.NewReader(text + "\n"))
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, nil, err
	}
	packets := packet.NewReader(bytes.NewReader(data))
	first, err := packets.Next()
	if err != nil {
		return nil, nil, err
	}
	signature, is := first.(*packet.Signature)
	if _, err := packets.Next(); !is || !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("want one signature, and nothing else")
	}
	switch {
	case signature.Version != 4 || signature.IssuerKeyId == nil:
		return nil, nil, errors.New("want version 4, with the ID of the key")
	case signature.SigType != packet.SigTypeBinary:
		return nil, nil, errors.New("it is not one over a document")
	case weakHashes[signature.Hash]:
		return nil, nil, errors.New("its digest is weak (SHA-1, MD5 or RIPEMD-160): set digest-algo SHA256 in gpg.conf")
	}
	return signature, data, nil
}

// pgpSigner returns the signer of a commit that is signed by OpenPGP.
func (k *Keys) pgpSigner(read parsed, now time.Time) (Signer, *refused) {
	signature, data, err := readSignature(read.signature)
	if err != nil {
		return Signer{}, refuse(Invalid, "its OpenPGP signature can't be read: %s", err)
	}
	claimed := fmt.Sprintf("%016X", *signature.IssuerKeyId)
	if len(signature.IssuerFingerprint) > 0 {
		claimed = fmt.Sprintf("%X", signature.IssuerFingerprint)
	}
	by, why := Signer{Key: claimed}, refuse(NotTrusted, "the OpenPGP key %s that signed it is not among the keys", claimed)
	if k.forges[claimed] {
		why = byForge(claimed)
	}
	for _, key := range k.pgp.KeysById(*signature.IssuerKeyId) {
		if by, why = k.pgpBy(key, signature, data, read, now); why == nil {
			return by, nil
		}
	}
	return by, why
}

// pgpBy reports whether a signature with a key counts.
func (k *Keys) pgpBy(key openpgp.Key, signature *packet.Signature, data []byte, read parsed, now time.Time) (Signer, *refused) {
	by := Signer{Key: fingerprint(key.Entity.PrimaryKey)}
	if id := key.Entity.PrimaryIdentity(); id != nil {
		by.Principal = id.Name
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	_, err := openpgp.CheckDetachedSignature(openpgp.EntityList{key.Entity}, bytes.NewReader(read.payload), bytes.NewReader(data), config)
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return by, refuse(NotTrusted, "the OpenPGP key %s that signed it may not sign, by its own flags", by.Key)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return by, refuse(NotTrusted, "the OpenPGP key %s that signed it is revoked", by.Key)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return by, refuse(NotTrusted, "the OpenPGP key %s that signed it has expired", by.Key)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return by, refuse(NotTrusted, "its signature with the OpenPGP key %s has expired, or is from the future", by.Key)
	case err != nil:
		return by, refuse(Invalid, "its signature with the OpenPGP key %s does not fit: %s", by.Key, err)
	case k.forges[by.Key]:
		return by, byForge(by.Key)
	}
	if never := unfitPGP(key); never != "" {
		return by, refuse(NotTrusted, "the OpenPGP key %s that signed it does not count: %s", by.Key, never)
	}
	for _, valid := range windowsOf(key) {
		if why := valid.refuses(read.committed, "the time of the commit"); why != nil {
			return by, why
		}
		if why := valid.refuses(signature.CreationTime, "the time of its signature"); why != nil {
			return by, why
		}
	}
	return by, nil
}

// windowsOf returns when a key is valid, and when its primary key is.
func windowsOf(key openpgp.Key) []window {
	primary, _ := key.Entity.PrimarySelfSignature()
	return []window{windowOf(key.Entity.PrimaryKey, primary), windowOf(key.PublicKey, key.SelfSignature)}
}

func windowOf(key *packet.PublicKey, self *packet.Signature) window {
	w := window{after: key.CreationTime}
	if life := self.KeyLifetimeSecs; life != nil && *life != 0 {
		w.before = key.CreationTime.Add(time.Duration(*life) * time.Second)
	}
	return w
}

// unfitPGP says why keys of a kind or size do not count; empty if they may.
func unfitPGP(key openpgp.Key) string {
	primary, _ := key.Entity.PrimarySelfSignature()
	for _, self := range []*packet.Signature{primary, key.SelfSignature} {
		if weakHashes[self.Hash] {
			return "its own signature has a weak digest; renew it with gpg --cert-digest-algo SHA256 --quick-set-expire"
		}
	}
	for _, public := range []*packet.PublicKey{key.Entity.PrimaryKey, key.PublicKey} {
		if public.Version != 4 {
			return fmt.Sprintf("keys of version %d are not supported", public.Version)
		}
		switch public.PubKeyAlgo {
		case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
			bits, err := public.BitLength()
			if weak := weakRSA(int(bits)); err != nil || weak != "" {
				return cmp.Or(weak, "its size can't be read")
			}
		case packet.PubKeyAlgoECDSA, packet.PubKeyAlgoEdDSA, packet.PubKeyAlgoEd25519, packet.PubKeyAlgoEd448:
		default:
			return fmt.Sprintf("keys of algorithm %d, such as DSA, are not supported", public.PubKeyAlgo)
		}
	}
	return ""
}
