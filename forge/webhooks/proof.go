package webhooks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/forge/gitlab"
)

// proof shows that a sender knows a secret.
type proof interface {
	// valid reports whether the secret is the one. It takes as long if it is not.
	valid(body []byte, now time.Time, secret []byte) bool
	// mark returns what no sender can change without knowing the secret.
	mark(body []byte) string
}

// signature is GitHub's: of the body, as hexadecimal digits.
type signature string

func signatureOf(header http.Header) (proof, bool) {
	value := header.Get(github.SignatureHeader)
	return signature(value), github.IsSignature(value)
}

func (s signature) valid(body []byte, _ time.Time, secret []byte) bool {
	return github.ValidSignature(string(s), body, secret)
}

func (s signature) mark([]byte) string { return "signature " + strings.ToLower(string(s)) }

// token is GitLab's: the secret itself, which travels with each webhook. It says nothing of the
// body.
type token string

func tokenOf(header http.Header) (proof, bool) {
	value := header.Get(gitlab.TokenHeader)
	return token(value), value != ""
}

func (t token) valid(body []byte, _ time.Time, secret []byte) bool {
	mac(secret, body) // as long as a signature takes: the time tells of no source which proof it has
	have, want := sha256.Sum256([]byte(t)), sha256.Sum256(secret)
	return hmac.Equal(have[:], want[:]) && !bytes.HasPrefix(secret, []byte(signingPrefix))
}

func (token) mark(body []byte) string {
	sum := sha256.Sum256(body)
	return "body " + hex.EncodeToString(sum[:])
}

// standard is a signature by the Standard Webhooks, which newer servers of GitLab can make: of the
// number of the delivery, the time and the body.
type standard struct {
	id, timestamp string
	at            time.Time
	signatures    []string
}

const (
	// signingPrefix begins a key for signatures, which follows in base64.
	signingPrefix = "whsec_"
	// tolerance limits the difference between the time of a webhook and ours.
	tolerance = 5 * time.Minute
	// mostSignatures are looked at: a sender has one for each key while it changes them.
	mostSignatures = 4
)

func standardOf(header http.Header) (proof, bool) {
	s := standard{id: header.Get("Webhook-Id"), timestamp: header.Get("Webhook-Timestamp")}
	seconds, err := strconv.ParseInt(s.timestamp, 10, 64)
	for one := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		if encoded, is := strings.CutPrefix(one, "v1,"); is && len(s.signatures) < mostSignatures {
			s.signatures = append(s.signatures, encoded)
		}
	}
	s.at = time.Unix(seconds, 0)
	return s, err == nil && s.id != "" && len(s.signatures) > 0
}

func (s standard) valid(body []byte, now time.Time, secret []byte) bool {
	encoded, is := bytes.CutPrefix(secret, []byte(signingPrefix))
	key, err := base64.StdEncoding.AppendDecode(nil, encoded)
	want := base64.StdEncoding.EncodeToString(mac(key, []byte(s.id+"."+s.timestamp+"."), body))
	signed := false
	for _, one := range s.signatures {
		signed = hmac.Equal([]byte(one), []byte(want)) || signed
	}
	late := now.Sub(s.at)
	return is && err == nil && len(key) > 0 && signed && late <= tolerance && late >= -tolerance
}

// mark returns the number, which is signed. A sender can add signatures.
func (s standard) mark([]byte) string { return "id " + s.id }

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}
