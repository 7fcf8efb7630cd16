package gitrepo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Source names a branch of a repository and how to get at it. Sources that are
// equal, Timeout, Caller and Reads aside, share polls and fetches.
type Source struct {
	// URL is https://, ssh:// or user@host:path; http:// and file:// where Options allow them.
	URL string
	// Branch is the short name, without refs/heads/.
	Branch string
	// Auth holds the credentials.
	Auth Auth
	// Timeout of one look and of one fetch; 60s if it is not above 0, at most MaxTimeout.
	Timeout time.Duration
	// Caller says for whom it is read.
	Caller Caller `json:"-"`
	// Reads reports whether the caller reads a file, by its path; nil if it reads all. Of a large
	// repository the others are not fetched, if the server can do without: to read one all the same is
	// an error, and Snapshot.Missed names it.
	Reads func(file string) bool `json:"-"`
	// Folders asks for no file that Reads does not name, however small the repository, if the server
	// can do without.
	Folders bool `json:",omitempty"`
}

// MaxTimeout is how long one look or fetch may take, whatever a Source says: meanwhile it takes
// room that others need.
const MaxTimeout = 2 * time.Minute

// Auth holds credentials. Fields that the protocol does not use are ignored.
type Auth struct {
	// Username and Password for https; Username for ssh where the URL has none.
	Username, Password string
	// BearerToken for https, instead of a password.
	BearerToken string
	// CABundle holds PEM certificates that are trusted for https besides the system's.
	CABundle []byte
	// PrivateKey for ssh, PEM, and the passphrase if it is encrypted.
	PrivateKey, Passphrase []byte
	// KnownHosts is the content of a known_hosts file. It is required for ssh.
	KnownHosts []byte
	// From says in messages where the credentials are from, such as "Secret shop-git".
	From string `json:"-"`
}

// shortestSecret that is looked for in messages: shorter ones would be found in
// the middle of words.
const shortestSecret = 4

// explain says whose credentials were refused, and removes them from an error, for servers that
// repeat what they were sent.
func (a Auth) explain(err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	message := known.Message
	if known.refused {
		message = strings.TrimSuffix("the server refused "+a.who()+": "+message, ": ")
	}
	basic := base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password))
	secrets := []string{a.Password, a.BearerToken, basic, string(a.Passphrase)}
	if !a.named() {
		secrets = append(secrets, a.Username)
	}
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return &Error{Kind: known.Kind, Message: message, Head: known.Head}
}

// named reports whether the user name is one, and not a token, which some servers take in its
// place.
func (a Auth) named() bool {
	return a.Username != "" && len(a.Username) < 40 && a.Password != "" && a.Password != "x-oauth-basic"
}

// who returns the account that is used on the server.
func (a Auth) who() string {
	who := "a request without credentials: name a Secret"
	switch {
	case a.BearerToken != "":
		who = "the bearer token"
	case len(a.PrivateKey) > 0:
		who = "the private key"
	case a.named():
		who = fmt.Sprintf("user %q", a.Username)
	case a.Username != "", a.Password != "":
		who = "the username and password"
	default:
		return who
	}
	if a.From != "" {
		who += " of " + a.From
	}
	return who
}

const defaultTimeout = 60 * time.Second

func (s Source) timeout() time.Duration {
	if s.Timeout <= 0 {
		return defaultTimeout
	}
	return min(s.Timeout, MaxTimeout)
}

// Host returns the server, for counting what is done with it; empty if the URL names none.
func (s Source) Host() string {
	if ep, err := transport.NewEndpoint(s.URL); err == nil {
		return ep.Host
	}
	return ""
}

type sourceKey [sha256.Size]byte

// key returns the same for sources that may share what was read.
func (s Source) key() sourceKey {
	s.Timeout = 0
	data, _ := json.Marshal(s) // strings and bytes only: it can't fail
	return sha256.Sum256(data)
}

// endpoint parses and checks the address.
func (s Source) endpoint(opts Options) (*transport.Endpoint, error) {
	ep, err := transport.NewEndpoint(s.URL)
	if err != nil {
		return nil, newError(Invalid, "read the repository's address: %s", clean(err.Error()))
	}
	switch {
	case ep.Protocol == "https", ep.Protocol == "ssh":
	case ep.Protocol == "http" && opts.AllowHTTP:
	case ep.Protocol == "file" && opts.AllowFile && strings.HasPrefix(s.URL, "file://"):
		return ep, nil
	default:
		return nil, newError(Invalid, "the address of the repository must start with https:// or ssh://, or be of the form user@host:path")
	}
	if ep.Host == "" || strings.Trim(ep.Path, "/") == "" {
		return nil, newError(Invalid, "the address of the repository must name a host and a path")
	}
	if ep.Password != "" {
		return nil, newError(Invalid, "the address of the repository must not hold a password: put it into a Secret")
	}
	return ep, nil
}
