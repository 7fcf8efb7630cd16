package gitrepo_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// sshServer is a repository served over ssh.
type sshServer struct {
	*server
	ssh      *gittest.SSHServer
	hostKeys []ssh.Signer
	client   []byte
}

func newSSHServer(t *testing.T, hostKeys ...any) *sshServer {
	t.Helper()
	client, public := clientKey(t, "")
	s := &sshServer{server: newServer(t, nil), client: client}
	for _, key := range hostKeys {
		s.hostKeys = append(s.hostKeys, signer(t, key))
	}
	served, err := gittest.ServeSSH(strings.TrimSuffix(s.Dir, "/"+s.Name()), public, s.hostKeys...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Close)
	s.ssh = served
	return s
}

func (s *sshServer) source(known ...ssh.Signer) gitrepo.Source {
	var lines []string
	for _, key := range known {
		lines = append(lines, knownhosts.Line([]string{s.ssh.Addr()}, key.PublicKey()))
	}
	return gitrepo.Source{
		URL:    "ssh://git@" + s.ssh.Addr() + "/" + s.Name(),
		Branch: gittest.Branch,
		Auth:   gitrepo.Auth{PrivateKey: s.client, KnownHosts: []byte(strings.Join(lines, "\n") + "\n")},
	}
}

// clientKey returns a new private key as PEM, and its public one.
func clientKey(t *testing.T, passphrase string) ([]byte, ssh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), signer(t, private).PublicKey()
}

func signer(t *testing.T, key any) ssh.Signer {
	t.Helper()
	made, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func ed25519Key(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func ecdsaKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func TestSSH(t *testing.T) {
	t.Parallel()
	s := newSSHServer(t, ed25519Key(t))
	src := s.source(s.hostKeys[0])
	first := s.write(t, map[string]string{"a": "1", "b": noise("b", 100<<10)})
	r := newReader(gitrepo.Options{})
	read(t, r, src, gitrepo.Known{})
	for range 3 {
		read(t, r, src, gitrepo.Known{Ancestor: first, Content: first})
	}
	s.write(t, map[string]string{"a": "2"})
	s.write(t, map[string]string{"a": "3"})
	got := content(t, read(t, r, src, gitrepo.Known{Ancestor: first, Content: first}))
	if got["a"] != "3" || len(got["b"]) != 100<<10 {
		t.Errorf("got a=%q and %d bytes of b", got["a"], len(got["b"]))
	}
}

// TestHostKeyAlgorithmsComeFromKnownHosts: with several host keys at the server, we must ask for
// the one that known_hosts has, whatever it is (go-git #1551).
func TestHostKeyAlgorithmsComeFromKnownHosts(t *testing.T) {
	t.Parallel()
	s := newSSHServer(t, ed25519Key(t), ecdsaKey(t), rsaKey(t))
	s.write(t, map[string]string{"a": "1"})
	for _, known := range s.hostKeys {
		t.Run(known.PublicKey().Type(), func(t *testing.T) {
			t.Parallel()
			read(t, newReader(gitrepo.Options{}), s.source(known), gitrepo.Known{})
		})
	}
}

func TestSSHRefusals(t *testing.T) {
	t.Parallel()
	s := newSSHServer(t, ed25519Key(t))
	s.write(t, map[string]string{"a": "1"})
	good := s.source(s.hostKeys[0])
	other, _ := clientKey(t, "")
	encrypted, _ := clientKey(t, secret)
	tests := []struct {
		name   string
		change func(*gitrepo.Source)
		kind   gitrepo.Kind
		says   string
	}{
		{"another host key", func(src *gitrepo.Source) { *src = s.source(signer(t, ed25519Key(t))) }, gitrepo.Denied, "key"},
		{"another kind of host key", func(src *gitrepo.Source) { *src = s.source(signer(t, ecdsaKey(t))) }, gitrepo.Denied, "host key"},
		{"host not known", func(src *gitrepo.Source) {
			src.Auth.KnownHosts = []byte(knownhosts.Line([]string{"example.com"}, s.hostKeys[0].PublicKey()))
		}, gitrepo.Denied, "no key for [127.0.0.1]"},
		{"no known_hosts", func(src *gitrepo.Source) { src.Auth.KnownHosts = nil }, gitrepo.InvalidAuth, "known_hosts"},
		{"broken known_hosts", func(src *gitrepo.Source) { src.Auth.KnownHosts = []byte("what is this\n") }, gitrepo.InvalidAuth, "known_hosts"},
		{"another key", func(src *gitrepo.Source) { src.Auth.PrivateKey = other }, gitrepo.Denied, "authenticate"},
		{"no key", func(src *gitrepo.Source) { src.Auth.PrivateKey = nil }, gitrepo.InvalidAuth, "private key"},
		{"large key", func(src *gitrepo.Source) {
			src.Auth.PrivateKey = append(src.Auth.PrivateKey, make([]byte, 16<<10)...)
		}, gitrepo.InvalidAuth, "larger than 16384 bytes"},
		{"broken key", func(src *gitrepo.Source) { src.Auth.PrivateKey = []byte("key") }, gitrepo.InvalidAuth, "private key"},
		{"no passphrase", func(src *gitrepo.Source) { src.Auth.PrivateKey = encrypted }, gitrepo.InvalidAuth, "passphrase"},
		{"no repository", func(src *gitrepo.Source) { src.URL += "-not" }, gitrepo.RepositoryNotFound, "repository"},
		{"no branch", func(src *gitrepo.Source) { src.Branch = "gone" }, gitrepo.BranchNotFound, "gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := good
			tt.change(&src)
			_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
			wantError(t, err, tt.kind, tt.says)
		})
	}
}

func TestEncryptedKey(t *testing.T) {
	t.Parallel()
	s := newSSHServer(t, ed25519Key(t))
	src := s.source(s.hostKeys[0])
	src.Auth.PrivateKey, _ = clientKey(t, secret)
	src.Auth.Passphrase = []byte(secret)
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.Denied, "authenticate") // it was read, and is not the server's
}

func TestSCPLikeAddress(t *testing.T) {
	t.Parallel()
	s := newSSHServer(t, ed25519Key(t))
	src := s.source(s.hostKeys[0])
	src.URL = "git@127.0.0.1:" + s.Name()
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.Denied, "no key for 127.0.0.1") // port 22, which known_hosts does not have
}

// TestSSHHangsInTheHandshake: a server that accepts connections and says nothing, not even its
// version.
func TestSSHHangsInTheHandshake(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	key := signer(t, ed25519Key(t))
	private, _ := clientKey(t, "")
	src := gitrepo.Source{
		URL:     "ssh://git@" + silent.Addr().String() + "/app",
		Branch:  "main",
		Timeout: 300 * time.Millisecond,
		Auth: gitrepo.Auth{
			PrivateKey: private,
			KnownHosts: []byte(knownhosts.Line([]string{silent.Addr().String()}, key.PublicKey())),
		},
	}
	began := time.Now()
	_, err = newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.Timeout)
	if took := time.Since(began); took > 20*time.Second { // less than a connection may take by itself
		t.Errorf("it took %s", took)
	}
}
