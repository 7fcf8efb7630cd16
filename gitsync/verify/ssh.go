package verify

import (
	"bytes"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// leastRSA is the least size of an RSA key, in bits.
const leastRSA = 2048

// namespace for which Git has commits signed.
const namespace = "git"

// sshKey is a line of allowed_signers.
type sshKey struct {
	principals string
	key        ssh.PublicKey
	window     window
	// never says why the key does not count, whatever it signs; empty if it may.
	never string
}

// addSSH reads allowed_signers, and returns the fingerprints of its keys. Its errors begin with the
// line.
func (k *Keys) addSSH(text string) ([]string, error) {
	var made []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		read, err := readSigner(line)
		if err != nil {
			return nil, fmt.Errorf(":%d: %w", number, err)
		}
		k.ssh = append(k.ssh, read)
		made = append(made, ssh.FingerprintSHA256(read.key))
	}
	return made, nil
}

// readSigner reads a line. Errors don't quote it: a Secret with something else may be named by
// mistake.
func readSigner(line string) (sshKey, error) {
	principals, rest := firstWord(line)
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil || principals == "" {
		return sshKey{}, errors.New("want PRINCIPALS [OPTIONS] KEYTYPE KEY, as in the section ALLOWED SIGNERS of ssh-keygen(1)")
	}
	read := sshKey{principals: principals, key: key, never: unfit(key)}
	if strings.ContainsAny(principals, "*?!") {
		read.never = "its principal " + principals + " is a pattern, which does not say who signed"
	}
	given := map[string]bool{}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		name = strings.ToLower(name)
		if given[name] {
			return sshKey{}, errors.New("it has an option twice")
		}
		given[name] = true
		if err := read.option(name, strings.Trim(value, `"`)); err != nil {
			return sshKey{}, err
		}
	}
	return read, nil
}

// firstWord returns the first word of a line, without its quotes, and the rest.
func firstWord(line string) (word, rest string) {
	if quoted, is := strings.CutPrefix(line, `"`); is {
		word, rest, _ = strings.Cut(quoted, `"`)
		return word, rest
	}
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return "", ""
	}
	return line[:at], line[at:]
}

func (s *sshKey) option(name, value string) (err error) {
	switch name {
	case "cert-authority":
		s.never = "it is one of an authority, and certificates are not supported"
	case "namespaces":
		if !slices.Contains(strings.Split(value, ","), namespace) {
			s.never = fmt.Sprintf("it is listed for the namespaces %q, without %s", value, namespace)
		}
	case "valid-after":
		s.window.after, err = readTime(value)
	case "valid-before":
		s.window.before, err = readTime(value)
	default:
		return errors.New("it has an unknown option: known are namespaces, valid-after, valid-before and cert-authority")
	}
	return err
}

// readTime reads a time as ssh-keygen does, but in UTC where that takes the zone of the machine.
func readTime(text string) (time.Time, error) {
	digits := strings.TrimSuffix(text, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if at, err := time.Parse(layout, digits); err == nil {
				return at, nil
			}
		}
	}
	return time.Time{}, errors.New("it has a time that can't be read: want YYYYMMDD[HHMM[SS]][Z]")
}

// unfit says why keys of a type or size do not count; empty if they may.
func unfit(key ssh.PublicKey) string {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256:
		return ""
	case ssh.KeyAlgoRSA:
		crypto, _ := key.(ssh.CryptoPublicKey)
		if key, is := crypto.CryptoPublicKey().(*rsa.PublicKey); is {
			return weakRSA(key.N.BitLen())
		}
	}
	return "keys of type " + key.Type() + " are not supported"
}

func weakRSA(bits int) string {
	if bits < leastRSA {
		return fmt.Sprintf("it is an RSA key of %d bits, and at least %d are needed", bits, leastRSA)
	}
	return ""
}

// sshSigner returns the signer of a commit that is signed by SSH.
func (k *Keys) sshSigner(read parsed, now time.Time) (Signer, *refused) {
	block, rest := pem.Decode([]byte(read.signature))
	if block == nil || block.Type != sshsig.PEMType || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return Signer{}, refuse(Invalid, "its SSH signature is malformed, or something follows it")
	}
	signature, err := sshsig.ParseSignature(block.Bytes)
	if err != nil {
		return Signer{}, refuse(Invalid, "its SSH signature can't be read: %s", err)
	}
	by := Signer{Key: ssh.FingerprintSHA256(signature.PublicKey)}
	if _, is := signature.PublicKey.(*ssh.Certificate); is {
		return by, refuse(NotTrusted, "it is signed with a certificate, and those are not supported: sign with the key itself")
	}
	listed := slices.DeleteFunc(slices.Clone(k.ssh), func(known sshKey) bool {
		return !bytes.Equal(known.key.Marshal(), signature.PublicKey.Marshal())
	})
	if len(listed) == 0 {
		return by, refuse(NotTrusted, "the SSH key %s that signed it is not among the keys", by.Key)
	}
	if err := sshsig.Verify(bytes.NewReader(read.payload), signature, listed[0].key, signature.HashAlgorithm, namespace); err != nil {
		return by, refuse(Invalid, "its signature with the SSH key %s does not fit: %s", by.Key, err)
	}
	return k.listed(by, listed, read.committed, now)
}

// listed returns the first line for the key of a signature that lets it count.
func (k *Keys) listed(by Signer, lines []sshKey, committed, now time.Time) (Signer, *refused) {
	var why *refused
	for _, line := range lines {
		by.Principal = line.principals
		if k.forges[by.Key] {
			return by, byForge(by.Key)
		}
		switch {
		case line.never != "":
			why = refuse(NotTrusted, "the SSH key %s of %s that signed it does not count: %s", by.Key, by.Principal, line.never)
		default:
			if why = line.window.refuses(committed, "the time of the commit"); why == nil {
				why = line.window.refuses(now, "now")
			}
		}
		if why == nil {
			return by, nil
		}
	}
	return by, why
}

// byForge refuses a signature that any user of the forge may have caused.
func byForge(key string) *refused {
	return refuse(NeedsMerge, "it is signed with %s, a key of the forge, which signs whatever is made in its web pages; "+
		"that does not say who wanted it", key)
}
