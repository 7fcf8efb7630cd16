package verify

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// run runs a program with an input, and returns its output.
func run(t *testing.T, env []string, input, name string, args ...string) string {
	t.Helper()
	out, err := try(env, input, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(env []string, input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(gittest.Environment(), append(env, "TZ=UTC")...)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// sshPair is a key that ssh-keygen made.
type sshPair struct{ file, public string }

func newSSH(t *testing.T, args ...string) sshPair {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if len(args) == 0 {
		args = []string{"-t", "ed25519"}
	}
	run(t, nil, "", "ssh-keygen", append([]string{"-q", "-N", "", "-C", "", "-f", file}, args...)...)
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return sshPair{file, strings.TrimSpace(string(public))}
}

func (p sshPair) fingerprint(t *testing.T) string {
	t.Helper()
	return strings.Fields(run(t, nil, "", "ssh-keygen", "-l", "-f", p.file))[1]
}

// sign returns a signature for a namespace, git if none is given.
func (p sshPair) sign(t *testing.T, payload string, args ...string) string {
	t.Helper()
	if len(args) == 0 {
		args = []string{"-n", "git"}
	}
	return run(t, nil, payload, "ssh-keygen", append([]string{"-q", "-Y", "sign", "-f", p.file}, args...)...)
}

// gpgHome is a home of gpg with keys.
type gpgHome struct{ env []string }

func newGPG(t *testing.T) gpgHome {
	t.Helper()
	home, err := os.MkdirTemp("", "g") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	g := gpgHome{[]string{"GNUPGHOME=" + home}}
	t.Cleanup(func() {
		_, _ = try(g.env, "", "gpgconf", "--kill", "all")
		_ = os.RemoveAll(home)
	})
	return g
}

func (g gpgHome) gpg(t *testing.T, input string, args ...string) string {
	t.Helper()
	return run(t, g.env, input, "gpg", append([]string{"--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
}

// key makes a key, and returns its fingerprint.
func (g gpgHome) key(t *testing.T, id, algorithm, expires string, args ...string) string {
	t.Helper()
	g.gpg(t, "", append(args, "--quick-gen-key", id, algorithm, "sign", expires)...)
	for line := range strings.Lines(g.gpg(t, "", "--with-colons", "--list-keys", id)) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	t.Fatal("gpg made no key")
	return ""
}

func (g gpgHome) export(t *testing.T, keys ...string) string {
	t.Helper()
	return g.gpg(t, "", append([]string{"--armor", "--export"}, keys...)...)
}

func (g gpgHome) sign(t *testing.T, payload, key string, args ...string) string {
	t.Helper()
	return g.gpg(t, payload, append(args, "--local-user", key, "--armor", "--detach-sign")...)
}

// when is the time of commits in tests.
var when = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// payload returns a commit without signature, with headers after those that each has.
func payload(at time.Time, headers ...string) string {
	more := strings.Join(headers, "\n")
	if more != "" {
		more += "\n"
	}
	return fmt.Sprintf("tree %s\nauthor Ada <ada@example.com> %d +0000\ncommitter Ada <ada@example.com> %d +0000\n%s\nchange\n", emptyTree, at.Unix(), at.Unix(), more)
}

// signed puts signatures into a commit, as Git does.
func signed(payload string, signatures ...string) Commit {
	header, message, _ := strings.Cut(payload, "\n\n")
	for _, signature := range signatures {
		header += "\ngpgsig " + strings.ReplaceAll(strings.TrimSuffix(signature, "\n"), "\n", "\n ")
	}
	return commit(header + "\n\n" + message)
}

func commit(raw string) Commit { return Commit{Name: NameOf([]byte(raw)), Raw: []byte(raw)} }

func keysOf(t *testing.T, files map[string]string) *Keys {
	t.Helper()
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	keys, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// withKey puts the key of a file into a signature.
func withKey(t *testing.T, signature, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text) //nolint:dogsled // as the library has it
	if err != nil {
		t.Fatal(err)
	}
	var blob struct {
		Magic                                     [6]byte
		Version                                   uint32
		Key, Namespace, Reserved, Hash, Signature string
	}
	block, _ := pem.Decode([]byte(signature))
	if err := ssh.Unmarshal(block.Bytes, &blob); err != nil {
		t.Fatal(err)
	}
	blob.Key = string(key.Marshal())
	return string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: ssh.Marshal(blob)}))
}
