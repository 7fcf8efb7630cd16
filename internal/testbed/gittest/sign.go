package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Signer is an SSH key that signs commits.
type Signer struct {
	// File is the private key.
	File string
	// Public is the public key, as in authorized_keys.
	Public string
}

// NewSigner makes a key in a folder.
func NewSigner(dir, name string) (*Signer, error) {
	s := &Signer{File: filepath.Join(dir, name)}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", s.File).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make an SSH key: %w: %s", err, out)
	}
	public, err := os.ReadFile(s.File + ".pub")
	s.Public = strings.TrimSpace(string(public))
	return s, err
}

// Sign replaces the head of a branch by the same commit, signed, and returns its name.
func (r *Repository) Sign(branch string, by *Signer) (string, error) {
	raw, err := r.Git(nil, "cat-file", "commit", branch)
	if err != nil {
		return "", err
	}
	header, message, found := strings.Cut(raw+"\n", "\n\n")
	if !found {
		return "", errors.New("sign commit: its headers have no end")
	}
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", by.File)
	cmd.Stdin = strings.NewReader(header + "\n\n" + message)
	signature, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sign commit: %w", err)
	}
	header += "\ngpgsig " + strings.ReplaceAll(strings.TrimSpace(string(signature)), "\n", "\n ")
	name, err := r.Git(bytes.NewBufferString(header+"\n\n"+message), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	_, err = r.Git(nil, "update-ref", "refs/heads/"+branch, name)
	return name, err
}
