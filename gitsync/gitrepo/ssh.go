package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// sshConnector runs git-upload-pack over ssh. go-git's own client is not used:
// it knows no deadline between connecting and the end of the handshake, and reads
// the ssh_config and agent of whoever runs it.
type sshConnector struct {
	dial    *net.Dialer
	address string
	command string
	config  ssh.ClientConfig
}

func newSSHConnector(ep *transport.Endpoint, auth Auth, dial *net.Dialer) (*sshConnector, error) {
	signer, err := privateKey(auth)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(strings.Trim(ep.Host, "[]"), strconv.Itoa(sshPort(ep)))
	hosts, err := readKnownHosts(auth.KnownHosts)
	if err != nil {
		return nil, err
	}
	algorithms := hosts.HostKeyAlgorithms(address)
	if len(algorithms) == 0 {
		return nil, newError(Denied, "known_hosts has no key for %s", knownhosts.Normalize(address))
	}
	return &sshConnector{
		dial:    dial,
		address: address,
		command: transport.UploadPackServiceName + " " + shellQuote(ep.Path),
		config: ssh.ClientConfig{
			User:            sshUser(ep, auth),
			Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
			HostKeyCallback: hosts.HostKeyCallback(),
			// Only what known_hosts has: else the server may choose a kind of key that is not in
			// it, which looks like a forged one (go-git #1551).
			HostKeyAlgorithms: algorithms,
		},
	}, nil
}

// mostKeyBytes is more than a key of 16384 bits has. The time to read one grows with the cube of
// its size, to hours for 130 KB, and nothing interrupts that.
const mostKeyBytes = 16 << 10

func privateKey(auth Auth) (ssh.Signer, error) {
	switch {
	case len(auth.PrivateKey) == 0:
		return nil, newError(InvalidAuth, "ssh needs a private key")
	case len(auth.PrivateKey) > mostKeyBytes:
		return nil, newError(InvalidAuth, "the private key is larger than %d bytes", mostKeyBytes)
	}
	signer, err := ssh.ParsePrivateKey(auth.PrivateKey)
	var encrypted *ssh.PassphraseMissingError
	if errors.As(err, &encrypted) && len(auth.Passphrase) > 0 {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(auth.PrivateKey, auth.Passphrase)
	}
	if err != nil {
		return nil, newError(InvalidAuth, "read the private key: %s", clean(err.Error()))
	}
	return signer, nil
}

// readKnownHosts parses the content of a known_hosts file. The library reads
// files only, hence the temporary one.
func readKnownHosts(content []byte) (*knownhosts.HostKeyDB, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, newError(InvalidAuth, "ssh needs known_hosts")
	}
	file, err := os.CreateTemp("", "known_hosts-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for known_hosts: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return nil, fmt.Errorf("write a temporary file for known_hosts: %w", err)
	}
	hosts, err := knownhosts.NewDB(file.Name())
	if err != nil {
		message := strings.ReplaceAll(err.Error(), file.Name(), "known_hosts")
		return nil, newError(InvalidAuth, "read known_hosts: %s", clean(message))
	}
	return hosts, nil
}

func sshPort(ep *transport.Endpoint) int {
	if ep.Port > 0 {
		return ep.Port
	}
	return 22
}

func sshUser(ep *transport.Endpoint, auth Auth) string {
	switch {
	case ep.User != "":
		return ep.User
	case auth.Username != "":
		return auth.Username
	}
	return "git"
}

// shellQuote quotes a path for the server's shell as Git does.
func shellQuote(path string) string {
	return "'" + strings.NewReplacer(`'`, `'\''`, `!`, `'\!'`).Replace(path) + "'"
}

func (c *sshConnector) open(ctx context.Context, m *meter) (session, error) {
	s, err := c.connect(ctx, m)
	if err != nil {
		return nil, err
	}
	defer s.bind(ctx)()
	return s, s.closeOn(s.run.Start(c.command))
}

func (c *sshConnector) connect(ctx context.Context, m *meter) (*sshSession, error) {
	conn, err := c.dial.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	s := &sshSession{conn: conn, meter: m}
	defer s.bind(ctx)()
	return s, s.closeOn(s.prepare(c))
}

// ask implements blobConnector. Servers choose version 2 by a variable of the environment, which
// sshd must let in.
func (c *sshConnector) ask(ctx context.Context, m *meter, request []byte) (io.ReadCloser, error) {
	s, err := c.connect(ctx, m)
	if err != nil {
		return nil, err
	}
	unbind := s.bind(ctx)
	end := closer(func() error { unbind(); return s.Close() })
	if err := s.ask(c.command, request); err != nil {
		_ = end()
		return nil, err
	}
	return readCloser{s.stdout, end}, nil
}

// sshSession is git-upload-pack running on a server.
type sshSession struct {
	conn   net.Conn
	client *ssh.Client
	run    *ssh.Session
	meter  *meter
	stdin  io.WriteCloser
	stdout io.Reader
	stderr firstWords
}

// closeOn closes the session if there is an error, which it returns.
func (s *sshSession) closeOn(err error) error {
	if err != nil {
		s.Close()
	}
	return err
}

func (s *sshSession) prepare(c *sshConnector) error {
	conn, channels, requests, err := ssh.NewClientConn(s.conn, c.address, &c.config)
	if err != nil {
		return err
	}
	s.client = ssh.NewClient(conn, channels, requests)
	if s.run, err = s.client.NewSession(); err != nil {
		return err
	}
	s.run.Stderr = &s.stderr
	if s.stdin, err = s.run.StdinPipe(); err != nil {
		return err
	}
	s.stdout, err = s.run.StdoutPipe()
	return err
}

func (s *sshSession) ask(command string, request []byte) error {
	if err := s.run.Setenv("GIT_PROTOCOL", "version=2"); err != nil {
		return errNotServed
	}
	if err := s.run.Start(command); err != nil {
		return err
	}
	if err := readVersion2(s.meter.cap(s.stdout, preambleBytes, "what the server says of itself")); err != nil {
		return err
	}
	if _, err := s.stdin.Write(request); err != nil {
		return err
	}
	return s.stdin.Close()
}

// readVersion2 reads what a server of version 2 of the protocol says of itself.
func readVersion2(stdout io.Reader) error {
	lines := pktline.NewScanner(stdout)
	if !lines.Scan() || string(lines.Bytes()) != "version 2\n" {
		return cmp.Or(lines.Err(), errNotServed)
	}
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			return nil
		}
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}

// bind makes the connection end with ctx until the returned function is called.
func (s *sshSession) bind(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, func() { s.conn.Close() })
	return func() { stop() }
}

// AdvertisedReferencesContext implements session.
func (s *sshSession) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	defer s.bind(ctx)()
	refs := packp.NewAdvRefs()
	err := refs.Decode(s.meter.refs(s.stdout))
	switch {
	case errors.Is(err, packp.ErrEmptyInput):
		return nil, s.refusal()
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && refs.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	}
	return refs, err
}

// refusal returns the server's message if it refuses to list references.
func (s *sshSession) refusal() error {
	_ = s.run.Wait() // for the last of stderr; the exit status tells nothing more
	said := clean(s.stderr.String())
	lower := strings.ToLower(said)
	for _, missing := range []string{"not found", "does not exist", "not appear to be a git repository", "could not be found"} {
		if strings.Contains(lower, missing) {
			return newError(RepositoryNotFound, "%s", said)
		}
	}
	return newError(Protocol, "the server closed the connection: %s", said)
}

// UploadPack implements session.
func (s *sshSession) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	unbind := s.bind(ctx)
	resp, err := s.exchange(req, closer(func() error { unbind(); return nil }))
	if err != nil {
		unbind()
		return nil, err
	}
	return resp, nil
}

func (s *sshSession) exchange(req *packp.UploadPackRequest, end io.Closer) (*packp.UploadPackResponse, error) {
	if err := req.UploadRequest.Encode(s.stdin); err != nil {
		return nil, err
	}
	if err := req.UploadHaves.Encode(s.stdin, true); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(s.stdin).EncodeString("done\n"); err != nil {
		return nil, err
	}
	if err := s.stdin.Close(); err != nil {
		return nil, err
	}
	resp := packp.NewUploadPackResponse(req)
	return resp, resp.Decode(readCloser{s.meter.answer(s.stdout), end})
}

// Close ends the session in whatever state it is.
func (s *sshSession) Close() error {
	if s.client == nil {
		return s.conn.Close()
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// firstWords keeps the beginning of what is written to it.
type firstWords struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *firstWords) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 4096 - len(t.kept); room > 0 {
		t.kept = append(t.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *firstWords) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
