package forgetest

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

// npmPackage is one release of an npm package, and the file of it that is used.
type npmPackage struct {
	scope, name, version string
	// integrity is the digest of the archive as the registry publishes it, in Base64.
	integrity string
	file      string
	// kept is what the file is called in the cache, and shrink, if not nil, what it is made there.
	kept   string
	shrink func([]byte) ([]byte, error)
}

// What GitHub publishes: the description of its API and webhooks, and recorded payloads.
var (
	openAPIPackage = npmPackage{
		"@octokit", "openapi", "23.0.2",
		"pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
		"package/generated/api.github.com.json", "openapi-23.0.2-schemas.json", schemasOnly,
	}
	examplesPackage = npmPackage{
		"@octokit", "webhooks-examples", "7.6.1",
		"De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
		"package/api.github.com/index.json", "webhooks-examples-7.6.1.json", nil,
	}
)

// read gives the file, from the cache if it is there.
func (p npmPackage) read(ctx context.Context) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find cache folder: %w", err)
	}
	folder := filepath.Join(cache, "sluice", "github-description")
	kept := filepath.Join(folder, p.kept)
	if data, err := os.ReadFile(kept); err == nil {
		return data, nil
	}
	archive, err := p.fetch(ctx)
	if err != nil {
		return nil, err
	}
	data, err := p.extract(archive)
	if err == nil && p.shrink != nil {
		data, err = p.shrink(data)
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
func (p npmPackage) fetch(ctx context.Context) ([]byte, error) {
	fetch := p.download
	if _, err := exec.LookPath("npm"); err == nil {
		fetch = p.pack
	}
	archive, err := fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch %s/%s@%s: %w", p.scope, p.name, p.version, err)
	}
	digest := sha512.Sum512(archive)
	if got := base64.StdEncoding.EncodeToString(digest[:]); subtle.ConstantTimeCompare([]byte(got), []byte(p.integrity)) != 1 {
		return nil, fmt.Errorf("fetch %s/%s@%s: digest is %s, want %s", p.scope, p.name, p.version, got, p.integrity)
	}
	return archive, nil
}

func (p npmPackage) pack(ctx context.Context) ([]byte, error) {
	folder, err := os.MkdirTemp("", "forgetest-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(folder)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "npm", "pack", fmt.Sprintf("%s/%s@%s", p.scope, p.name, p.version), "--pack-destination", folder)
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

func (p npmPackage) download(ctx context.Context) ([]byte, error) {
	registry := strings.TrimSuffix(cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), "https://registry.npmjs.org"), "/")
	url := fmt.Sprintf("%s/%s/%s/-/%s-%s.tgz", registry, p.scope, p.name, p.name, p.version)
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
func (p npmPackage) extract(archive []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("unpack archive: %w", err)
	}
	files := tar.NewReader(unpacked)
	for {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s in archive: %w", p.file, err)
		}
		if header.Name == p.file {
			return io.ReadAll(io.LimitReader(files, 100<<20))
		}
	}
}
