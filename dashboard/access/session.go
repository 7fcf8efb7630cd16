package access

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxCookie is how long the value of a cookie may be: browsers drop cookies of more than 4096 bytes
// with their name and attributes.
const maxCookie = 3800

// maxSession bounds what is unpacked of a cookie.
const maxSession = 64 << 10

// minKey is how long a line in a file of keys has to be: 32 characters of base64 hold 192 bits.
const minKey = 32

const tooManyHint = "Ask who runs the dashboard to take fewer of them: --oidc-groups-filter says which groups count."

// session is the login of a person, which the browser keeps sealed.
type session struct {
	// ID is unpredictable: the token of forms is made of it.
	ID      []byte   `json:"i"`
	Who     identity `json:"w"`
	Expires int64    `json:"x"` // Unix seconds
}

func newSession(who identity, expires time.Time) session {
	return session{ID: random(16), Who: who, Expires: expires.Unix()}
}

// csrf returns the token of the session's forms.
func (s session) csrf() string { return formToken(s.ID) }

// formToken returns a token made of a secret, and does not reveal it.
func formToken(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("sluice dashboard form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// random returns bytes that nobody can guess.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// randomText returns random bytes as text for URLs.
func randomText(n int) string { return base64.RawURLEncoding.EncodeToString(random(n)) }

// Keys seal sessions: the first one seals, and each of them opens. Replicas of the dashboard share
// them.
type Keys []cipher.AEAD

// NewKeys returns keys made of secrets, each long and unpredictable.
func NewKeys(secrets ...string) (Keys, error) {
	keys := make(Keys, 0, len(secrets))
	for _, secret := range secrets {
		raw, err := hkdf.Key(sha256.New, []byte(secret), nil, "sluice dashboard session", 32)
		if err != nil {
			return nil, fmt.Errorf("make session key: %w", err)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("make session key: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("make session key: %w", err)
		}
		keys = append(keys, aead)
	}
	return keys, nil
}

// RandomKeys returns a key that ends with the process, and all sessions with it.
func RandomKeys() (Keys, error) { return NewKeys(randomText(32)) }

var errTooLarge = errors.New("does not fit into a cookie")

// seal encrypts a value for a purpose, as the value of a cookie.
func (k Keys) seal(purpose string, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", purpose, err)
	}
	if len(data) > maxSession { // it may pack well, and open would not unpack it
		return "", errTooLarge
	}
	var packed bytes.Buffer
	into, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", fmt.Errorf("pack %s: %w", purpose, err)
	}
	if _, err := into.Write(data); err != nil {
		return "", fmt.Errorf("pack %s: %w", purpose, err)
	}
	if err := into.Close(); err != nil {
		return "", fmt.Errorf("pack %s: %w", purpose, err)
	}
	sealed := base64.RawURLEncoding.EncodeToString(k[0].Seal(nil, nil, packed.Bytes(), []byte(purpose))) //nolint:gosec // it makes a nonce itself
	if len(sealed) > maxCookie {
		return "", errTooLarge
	}
	return sealed, nil
}

// open decrypts what seal made for the same purpose. It reports false for anything else.
func (k Keys) open(purpose, sealed string, value any) bool {
	if len(sealed) > maxCookie {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return false
	}
	for _, key := range k {
		packed, err := key.Open(nil, nil, raw, []byte(purpose))
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxSession))
		return err == nil && json.Unmarshal(data, value) == nil
	}
	return false
}
