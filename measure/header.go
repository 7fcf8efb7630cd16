package measure

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/plain"
)

// ownHeaders belong to the query or to its connection: another value breaks both, or is never sent.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeader returns an error if no request can have the header. It names no value.
func checkHeader(header http.Header) error {
	for name, values := range header {
		switch {
		case name == "" || strings.ContainsFunc(name, notOfName):
			return failed(Misconfigured, "%q is not a name of a header", plain.UpTo(plain.Line(name), maxWords))
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			return failed(Misconfigured, "the header %s can't be set", http.CanonicalHeaderKey(name))
		case slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, isControl) }):
			return failed(Misconfigured, "the header %s has a line break or another control character", http.CanonicalHeaderKey(name))
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// notOfName reports whether names of headers can't have a character (RFC 9110, section 5.6.2).
func notOfName(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}

// secrets returns what of the header is hidden, the longest first: one may begin like another.
func (s *Server) secrets() (all []string) {
	for _, values := range s.header {
		for _, value := range values {
			for part := range strings.FieldsSeq(value) {
				all = append(all, part)
			}
			if scheme, encoded, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Basic") {
				decoded, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
				_, password, _ := strings.Cut(string(decoded), ":")
				all = append(all, password)
			}
		}
	}
	all = slices.DeleteFunc(all, func(secret string) bool { return len(secret) <= 3 })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// words returns words of a server that people may read: without credentials, on a line.
func (s *Server) words(said string) string {
	secrets, cut := s.secrets(), len(said) > maxRead
	said = said[:min(len(said), maxRead)]
	for _, secret := range secrets {
		said = strings.ReplaceAll(said, secret, "[hidden]")
	}
	if cut && len(secrets) > 0 { // the cut may have left a part of one
		said = said[:max(0, len(said)-len(secrets[0]))]
	}
	return plain.UpTo(plain.Line(said), maxWords)
}
