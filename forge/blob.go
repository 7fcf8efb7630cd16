package forge

import (
	"crypto/sha1" //nolint:gosec // Git names blobs by it
	"encoding/hex"
	"fmt"
)

// BlobSHA returns the name that Git gives to a file's content, in a repository that names by SHA-1.
func BlobSHA(content []byte) string {
	h := sha1.New() //nolint:gosec // as Git has it
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
