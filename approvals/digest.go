package approvals

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestOf tells texts apart. Where one ends and the next begins counts.
func digestOf(texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		hash.Write(sum[:])
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
