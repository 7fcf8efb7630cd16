package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/internal/plain"
)

// Signer made a signature that counts.
type Signer struct {
	// Principal is the name of the signer in the file of keys: a principal of allowed_signers, or the
	// user ID of an OpenPGP key.
	Principal string
	// Key is the fingerprint of the key, as ssh-keygen -l or gpg shows it.
	Key string
}

// Cause says why a commit is refused.
type Cause int

// The causes.
const (
	// NotSigned: the commit has no signature.
	NotSigned Cause = iota
	// Invalid: the signature does not fit the commit, or is of a kind that does not count.
	Invalid
	// NotTrusted: the key is not among those given, or not valid.
	NotTrusted
	// NeedsMerge: the forge made the signature. It would count with a merge that was read from the
	// forge, and does not by itself.
	NeedsMerge
)

// RefusedError says why a commit does not count as verified.
type RefusedError struct {
	Commit string
	Cause  Cause
	// Signer made the signature, as far as that is known.
	Signer Signer
	// Why is the reason in words.
	Why string
}

// Error implements error.
func (r *RefusedError) Error() string { return "commit " + plain.Commit(r.Commit) + ": " + r.Why }

// Check returns who signed a commit. Its error is a *RefusedError.
func (k *Keys) Check(c Commit, now time.Time) (signer Signer, err error) {
	// The libraries read what anybody may have written.
	defer func() {
		if failed := recover(); failed != nil {
			signer, err = Signer{}, refusal(c, Invalid, Signer{}, "its signature can't be read: %v", failed)
		}
	}()
	read, err := parse(c)
	if err != nil {
		return Signer{}, refusal(c, Invalid, Signer{}, "%s", err)
	}
	signer, verdict := k.signer(read, now)
	if verdict != nil {
		return Signer{}, refusal(c, verdict.cause, signer, "%s", verdict.why)
	}
	return signer, nil
}

func refusal(c Commit, cause Cause, signer Signer, format string, args ...any) *RefusedError {
	return &RefusedError{Commit: c.Name, Cause: cause, Signer: signer, Why: fmt.Sprintf(format, args...)}
}

// refused says why a signature does not count.
type refused struct {
	cause Cause
	why   string
}

func refuse(cause Cause, format string, args ...any) *refused {
	return &refused{cause, fmt.Sprintf(format, args...)}
}

const (
	pgpSignature = "-----BEGIN PGP SIGNATURE-----"
	sshSignature = "-----BEGIN SSH SIGNATURE-----"
)

func (k *Keys) signer(read parsed, now time.Time) (Signer, *refused) {
	switch begins, _, _ := strings.Cut(strings.TrimSpace(read.signature), "\n"); strings.TrimSpace(begins) {
	case "":
		return Signer{}, refuse(NotSigned, "it is not signed")
	case pgpSignature:
		return k.pgpSigner(read, now)
	case sshSignature:
		return k.sshSigner(read, now)
	}
	return Signer{}, refuse(Invalid, "its signature is neither of OpenPGP nor of SSH")
}

// window is the time in which a key is valid; zero ends are open.
type window struct{ after, before time.Time }

// refuses says why a key is not valid at a time; nil if it is.
func (w window) refuses(at time.Time, when string) *refused {
	switch {
	case !w.after.IsZero() && at.Before(w.after):
		return refuse(NotTrusted, "the key that signed it is valid from %s, which is after %s", stamp(w.after), when)
	case !w.before.IsZero() && at.After(w.before):
		return refuse(NotTrusted, "the key that signed it was valid until %s, which is before %s", stamp(w.before), when)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
