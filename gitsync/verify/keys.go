package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// MaxKeys is the most bytes that keys may have.
const MaxKeys = 32 << 10

// ForgeKeys is the beginning of the names of files with keys of the forge.
const ForgeKeys = "forge"

// Keys are the keys that commits are checked against.
type Keys struct {
	ssh []sshKey
	pgp openpgp.EntityList
	// forges has the fingerprints of the keys of forges.
	forges map[string]bool
}

// webFlow are the keys with which github.com signs what is made in its web pages: merges too.
// https://github.com/web-flow.gpg has them.
var webFlow = []string{"5DE3E0509C47EA3CF04A42D34AEE18F83AFDEB23", "968479A1AFF927E37D1A566BB5690EEEBB952194"}

// Read reads keys from files by their names: armored OpenPGP keys; or SSH keys in the format of
// allowed_signers, which ssh-keygen(1) describes. Each file must be readable as a whole.
func Read(files map[string][]byte) (*Keys, error) {
	k := &Keys{forges: map[string]bool{}}
	for _, fingerprint := range webFlow {
		k.forges[fingerprint] = true
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); size > MaxKeys {
			return nil, fmt.Errorf("the keys have more than %d bytes", MaxKeys)
		}
		if err := k.add(name, string(files[name])); err != nil {
			return nil, err
		}
	}
	if len(k.ssh)+len(k.pgp) == 0 {
		return nil, errors.New("there are no keys: want OpenPGP keys (gpg --export --armor), or lines of allowed_signers (ssh-keygen(1))")
	}
	return k, nil
}

func (k *Keys) add(name, text string) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("%s: can't be read: %v", name, failed)
		}
	}()
	var made []string
	if strings.Contains(text, "-----BEGIN PGP ") {
		made, err = k.addPGP(text)
	} else {
		made, err = k.addSSH(text)
	}
	if err != nil {
		return fmt.Errorf("%s%w", name, err)
	}
	if strings.HasPrefix(name, ForgeKeys) {
		for _, fingerprint := range made {
			k.forges[fingerprint] = true
		}
	}
	return nil
}
