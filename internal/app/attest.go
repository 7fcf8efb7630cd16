package app

import (
	"fmt"
	"os"

	"github.com/sluice-dev/sluice/proof"
)

// keyIn returns what reads the key that signs statements from a file, each time anew: the file of a
// mounted Secret changes. It returns nil for no file.
func keyIn(file string) func() (*proof.Key, error) {
	if file == "" {
		return nil
	}
	return func() (*proof.Key, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read attestation key: %w", err)
		}
		key, err := proof.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("read attestation key %s: %w", file, err)
		}
		return key, nil
	}
}

// checkKey refuses a file without a key at the start.
func checkKey(file string) error {
	read := keyIn(file)
	if read == nil {
		return nil
	}
	_, err := read()
	return err
}
