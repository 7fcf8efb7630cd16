package proof

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hiddeco/sshsig"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

const (
	// PayloadType is the type of in-toto's statements in an envelope.
	PayloadType = "application/vnd.in-toto+json"
	// MaxEnvelope is the most bytes of an envelope.
	MaxEnvelope = 2 << 10
	// namespace limits the signature by SSH to statements, as ssh-keygen -n does.
	namespace = "sluice"
)

// Key signs statements.
type Key struct {
	private ed25519.PrivateKey
	signer  ssh.Signer
}

// ParseKey reads an Ed25519 key without a passphrase, as ssh-keygen -t ed25519 or openssl genpkey
// writes it. Errors don't quote it.
func ParseKey(text []byte) (*Key, error) {
	read, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		return nil, errors.New("want an Ed25519 key without a passphrase, as ssh-keygen -t ed25519 -N '' makes one")
	}
	var private ed25519.PrivateKey
	switch key := read.(type) {
	case *ed25519.PrivateKey:
		private = *key
	case ed25519.PrivateKey:
		private = key
	default:
		return nil, fmt.Errorf("want an Ed25519 key, got one of another type: ssh-keygen -t ed25519 -N '' makes one")
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return &Key{private, signer}, nil
}

// Fingerprint returns the fingerprint of the key, as ssh-keygen -l shows it.
func (k *Key) Fingerprint() string { return ssh.FingerprintSHA256(k.signer.PublicKey()) }

// Trusted returns the public key.
func (k *Key) Trusted() Trusted { return Trusted{k.signer.PublicKey()} }

// Sign returns the envelope of a statement, in JSON of at most MaxEnvelope bytes. It has two
// signatures by the same key: a plain one, which tools for DSSE check, and one that ssh-keygen
// checks. A statement that is too large goes without the details of reviews, then without the
// policy, then without the names of reviewers, then without contributors.
func (k *Key) Sign(s Statement) ([]byte, error) {
	size := 0
	for _, shorter := range []func(*Gate){
		func(*Gate) {}, withoutDetails, withoutPolicy, withoutNames, withoutContributors,
	} {
		shorter(&s.Predicate)
		envelope, err := k.sign(s)
		if err != nil {
			return nil, err
		}
		if size = len(envelope); size <= MaxEnvelope {
			return envelope, nil
		}
	}
	return nil, fmt.Errorf("the statement of gate %s has %d bytes; the limit is %d", s.Gate, size, MaxEnvelope)
}

// withoutDetails leaves of reviews who gave them.
func withoutDetails(g *Gate) {
	facts := slices.Clone(g.Evidence)
	for i, fact := range facts {
		if fact.Kind == gate.EvidenceReview {
			facts[i] = Fact{Kind: fact.Kind, Actor: fact.Actor, ActorID: fact.ActorID}
		}
	}
	g.Evidence = facts
}

func withoutPolicy(g *Gate) { g.Policy = nil }

// withoutNames leaves of reviews the numbers of the accounts, which say who they are.
func withoutNames(g *Gate) {
	var facts []Fact
	for _, fact := range g.Evidence {
		if fact.Kind == gate.EvidenceReview && fact.ActorID != 0 {
			g.Reviewers = append(g.Reviewers, fact.ActorID)
			continue
		}
		facts = append(facts, fact)
	}
	g.Evidence = facts
}

func withoutContributors(g *Gate) { g.Contributors = nil }

func (k *Key) sign(s Statement) ([]byte, error) {
	payload, err := s.encode()
	if err != nil {
		return nil, err
	}
	if payload, err = compact(payload); err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(plainSigner{k}, sshSigner{k})
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	envelope, err := signer.SignPayload(context.Background(), PayloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return json.Marshal(envelope)
}

// compact removes the spaces that protojson adds at random.
func compact(text []byte) ([]byte, error) {
	var made bytes.Buffer
	err := json.Compact(&made, text)
	return made.Bytes(), err
}

// plainSigner signs as RFC 8032 has it.
type plainSigner struct{ *Key }

func (p plainSigner) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(p.private, data), nil
}

func (p plainSigner) KeyID() (string, error) { return p.Fingerprint(), nil }

// sshSigner signs as ssh-keygen -Y sign does.
type sshSigner struct{ *Key }

func (s sshSigner) Sign(_ context.Context, data []byte) ([]byte, error) {
	signature, err := sshsig.Sign(bytes.NewReader(data), s.signer, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, err
	}
	return signature.Marshal(), nil
}

func (sshSigner) KeyID() (string, error) { return sshKeyID, nil }

// sshKeyID marks the signature by SSH, which names its key itself.
const sshKeyID = "sshsig"

// Trusted are the public keys of controllers.
type Trusted []ssh.PublicKey

// ParseTrusted reads public keys, one a line, as ssh-keygen writes them, with or without the name
// that a line of allowed_signers begins with. Its errors begin with the line.
func ParseTrusted(text string) (Trusted, error) {
	var keys Trusted
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil || key.Type() != ssh.KeyAlgoED25519 {
			return nil, fmt.Errorf("line %d: want a public key such as ssh-ed25519 AAAA..., which ssh-keygen -y prints", number)
		}
		if len(options) > 1 || len(options) == 1 && strings.Contains(options[0], "=") {
			return nil, fmt.Errorf("line %d: options are not supported", number)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key")
	}
	return keys, nil
}

// Open returns the statement of an envelope that one of the keys signed, and that key's
// fingerprint.
func (t Trusted) Open(envelope []byte) (Statement, string, error) {
	if compacted, err := compact(envelope); err != nil || len(compacted) > MaxEnvelope {
		return Statement{}, "", fmt.Errorf("read envelope: want JSON of at most %d bytes", MaxEnvelope)
	}
	var read dsse.Envelope
	decoder := json.NewDecoder(bytes.NewReader(envelope))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return Statement{}, "", fmt.Errorf("read envelope: %w", err)
	}
	if read.PayloadType != PayloadType || len(read.Signatures) != 2 || read.Signatures[1].KeyID != sshKeyID {
		return Statement{}, "", fmt.Errorf("read envelope: want a payload of type %s with a plain signature and one by SSH", PayloadType)
	}
	for _, text := range []string{read.Payload, read.Signatures[0].Sig, read.Signatures[1].Sig} {
		if decoded, err := base64.StdEncoding.DecodeString(text); err != nil || base64.StdEncoding.EncodeToString(decoded) != text {
			return Statement{}, "", errors.New("read envelope: its base64 is malformed")
		}
	}
	for _, key := range t {
		if fingerprint := ssh.FingerprintSHA256(key); fingerprint == read.Signatures[0].KeyID {
			payload, err := payloadOf(key, &read)
			if err != nil {
				return Statement{}, "", err
			}
			s, err := decode(payload)
			return s, fingerprint, err
		}
	}
	return Statement{}, "", &untrustedError{line(read.Signatures[0].KeyID)}
}

// untrustedError says that an envelope is signed by a key that is not trusted.
type untrustedError struct{ key string }

// Error implements error.
func (u *untrustedError) Error() string { return "it is signed by " + u.key + ", which is not trusted" }

// payloadOf returns the payload of an envelope that a key signed in both ways.
func payloadOf(key ssh.PublicKey, envelope *dsse.Envelope) ([]byte, error) {
	public, is := key.(ssh.CryptoPublicKey)
	if !is {
		return nil, errors.New("the key is of another type")
	}
	raw, is := public.CryptoPublicKey().(ed25519.PublicKey)
	if !is {
		return nil, errors.New("the key is of another type")
	}
	verifier, err := dsse.NewMultiEnvelopeVerifier(2, plainVerifier{raw, ssh.FingerprintSHA256(key)}, sshVerifier{raw, key})
	if err != nil {
		return nil, err
	}
	_, payload, err := verifier.VerifyAndDecode(context.Background(), envelope)
	if err != nil {
		return nil, errors.New("its signatures don't fit: it was changed, or is another's")
	}
	return payload, nil
}

type plainVerifier struct {
	key         ed25519.PublicKey
	fingerprint string
}

func (p plainVerifier) Verify(_ context.Context, data, signature []byte) error {
	if !ed25519.Verify(p.key, data, signature) {
		return errors.New("the signature does not fit")
	}
	return nil
}

func (p plainVerifier) KeyID() (string, error)   { return p.fingerprint, nil }
func (p plainVerifier) Public() crypto.PublicKey { return p.key }

type sshVerifier struct {
	raw ed25519.PublicKey
	key ssh.PublicKey
}

func (s sshVerifier) Verify(_ context.Context, data, signature []byte) error {
	read, err := sshsig.ParseSignature(signature)
	if err != nil {
		return err
	}
	if !bytes.Equal(read.Marshal(), signature) {
		return errors.New("something follows the signature")
	}
	return sshsig.Verify(bytes.NewReader(data), read, s.key, sshsig.HashSHA512, namespace)
}

func (sshVerifier) KeyID() (string, error)     { return sshKeyID, nil }
func (s sshVerifier) Public() crypto.PublicKey { return s.raw }

// policyDigest returns the SHA-256 of a policy's JSON with sorted keys, in hex. Numbers are as a
// statement can hold them.
func policyDigest(policy *v1alpha1.GatePolicy) string {
	encoded, err := json.Marshal(decoded(policy))
	if err != nil {
		return "" // a policy comes from JSON
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
