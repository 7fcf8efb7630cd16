package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// files are the assets, each with an ETag for browsers that have it cached.
type files map[string]file

type file struct {
	kind, tag   string
	data, small []byte
}

func newFiles(from fs.FS) files {
	all := files{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return fmt.Errorf("read asset %s: %w", name, err)
		}
		sum := sha256.Sum256(data)
		kind := mime.TypeByExtension(path.Ext(name))
		all[name] = file{kind, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, data, compress(data)}
		return nil
	})
	if err != nil { // they are in the program
		panic(err)
	}
	return all
}

func compress(data []byte) []byte {
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	_, _ = to.Write(data) // to memory
	_ = to.Close()
	return out.Bytes()
}

// ServeHTTP serves an asset. Unlike pages, assets have no secrets in them, and may be kept and
// compressed.
func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, found := f[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", one.kind)
	header.Set("Cache-Control", "no-cache") // kept, and asked for again
	header.Set("ETag", one.tag)
	header.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == one.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := one.data
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		data = one.small
	}
	_, _ = w.Write(data) // the client may have gone
}
