package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest tells texts apart. Where one ends and the next begins counts.
func Digest(texts ...string) string {
	hasher := sha256.New()
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		hasher.Write(sum[:])
	}
	return hex.EncodeToString(hasher.Sum(nil)[:8])
}
