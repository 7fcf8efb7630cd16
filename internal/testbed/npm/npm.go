// Package npm reads single files of packages of the npm registry, each pinned by its digest, for
// tests and demo. What was read once is in the user's cache.
package npm

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Package is one release of an npm package, and the file of it that is used.
type Package struct {
	// Scope is the part of the name before the slash, with the @; empty if there is none.
	Scope, Name, Version string
	// Integrity is the SHA-512 of the archive as the registry publishes it, in Base64.
	Integrity string
	// File is the file's path in the archive.
	File string
	// Folder and Kept are the folder and the name of the file in the cache.
	Folder, Kept string
	// Shrink, if not nil, converts the file before it is cached.
	Shrink func([]byte) ([]byte, error)
}

// String returns the package as npm names it.
func (p Package) String() string { return p.path() + "@" + p.Version }

func (p Package) path() string {
	if p.Scope == "" {
		return p.Name
	}
	return p.Scope + "/" + p.Name
}

// Read gives the file, from the cache if it is there.
func (p Package) Read(ctx context.Context) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find cache folder: %w", err)
	}
	folder := filepath.Join(cache, "sluice", p.Folder)
	kept := filepath.Join(folder, p.Kept)
	if data, err := os.ReadFile(kept); err == nil {
		return data, nil
	}
	archive, err := p.fetch(ctx)
	if err != nil {
		return nil, err
	}
	data, err := p.extract(archive)
	if err == nil && p.Shrink != nil {
		data, err = p.Shrink(data)
	}
	if err != nil {
		return nil, err
	}
	return data, keep(folder, kept, data)
}

// keep writes a file whole or not at all: several tests may do so at once.
func keep(folder, name string, data []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	scratch, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return fmt.Errorf("make cache file: %w", err)
	}
	_, err = scratch.Write(data)
	if err := errors.Join(err, scratch.Close()); err != nil {
		return fmt.Errorf("write cache file: %w", err)
	}
	if err := os.Rename(scratch.Name(), name); err != nil {
		return fmt.Errorf("name cache file: %w", err)
	}
	return nil
}

// fetch gives the archive, whose digest it checks. It is npm that knows how to reach the user's
// registry; without npm the archive is requested directly.
func (p Package) fetch(ctx context.Context) ([]byte, error) {
	fetch := p.download
	if _, err := exec.LookPath("npm"); err == nil {
		fetch = p.pack
	}
	archive, err := fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", p, err)
	}
	digest := sha512.Sum512(archive)
	if got := base64.StdEncoding.EncodeToString(digest[:]); subtle.ConstantTimeCompare([]byte(got), []byte(p.Integrity)) != 1 {
		return nil, fmt.Errorf("fetch %s: digest is %s, want %s", p, got, p.Integrity)
	}
	return archive, nil
}

func (p Package) pack(ctx context.Context) ([]byte, error) {
	folder, err := os.MkdirTemp("", "npm-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(folder)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "npm", "pack", p.String(), "--pack-destination", folder)
	cmd.Dir, cmd.Stderr = folder, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run npm pack: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("find archive among %v: %w", archives, err)
	}
	return os.ReadFile(archives[0])
}

func (p Package) download(ctx context.Context) ([]byte, error) {
	registry := strings.TrimSuffix(cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), "https://registry.npmjs.org"), "/")
	url := fmt.Sprintf("%s/%s/-/%s-%s.tgz", registry, p.path(), p.Name, p.Version)
	//nolint:gosec // G704: the registry is the user's own setting
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // G704: as above
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("registry answers %s", response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, 100<<20))
}

// extract finds the one file in the archive.
func (p Package) extract(archive []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("unpack archive: %w", err)
	}
	files := tar.NewReader(unpacked)
	for {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in archive: %w", p.File, err)
		}
		if header.Name == p.File {
			return io.ReadAll(io.LimitReader(files, 100<<20))
		}
	}
}
