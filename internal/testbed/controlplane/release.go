package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"
)

// ReleaseURLEnv names the environment variable with the address of the programs that the Kubernetes
// project has built, for a mirror of it: https://dl.k8s.io/release by default. With "none" every
// program is built from its module.
const ReleaseURLEnv = "SLUICE_KUBERNETES_RELEASES"

const (
	releaseURL = "https://dl.k8s.io/release"
	noRelease  = "none"
	// sumsFile is in the format of sha256sum, next to the go.mod of a set. It pins what may be
	// downloaded.
	sumsFile = "SHA256SUMS"
	// mostBytes is several times what the largest program has.
	mostBytes = 1 << 30
)

// How long a download may bring nothing, and how long it may take as a whole. On a slower line a
// program is built sooner.
const (
	releaseSilence = 10 * time.Second
	releaseLimit   = 2 * time.Minute
)

// A release is the programs of a version of Kubernetes as its project has built them, as far as the
// checkout pins their checksums.
type release struct {
	url            string
	sums           map[string]string // SHA-256 in hexadecimal digits, by path below url
	silence, limit time.Duration
}

// release returns what may be downloaded of the module's programs.
func (m *module) release() (release, error) {
	r := release{url: releaseURL, silence: releaseSilence, limit: releaseLimit}
	if mirror := os.Getenv(ReleaseURLEnv); mirror != "" {
		r.url = strings.TrimSuffix(mirror, "/")
	}
	if r.url == noRelease {
		return release{}, nil
	}
	var err error
	r.sums, err = parseSums(string(m.sums))
	if err != nil {
		return release{}, fmt.Errorf("read checksums of %s: %w", m.dir, err)
	}
	return r, nil
}

// parseSums reads the format of sha256sum. Lines that begin with # are comments.
func parseSums(text string) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sum, path, found := strings.Cut(line, "  ")
		if bytes, err := hex.DecodeString(sum); !found || err != nil || len(bytes) != sha256.Size {
			return nil, fmt.Errorf("line %q is not a SHA-256, two spaces and a path", line)
		}
		sums[path] = sum
	}
	return sums, nil
}

// path returns where a release has a program for this machine, and whether its checksum is pinned.
func (r release) path(m *module, p program) (string, bool) {
	if p.module != kubernetesModule {
		return "", false
	}
	path := fmt.Sprintf("%s/bin/%s/%s/%s", m.versions[p.module], runtime.GOOS, runtime.GOARCH, p.name)
	_, pinned := r.sums[path]
	return path, pinned
}

// download writes the program at path to the file out, which is executable and has the pinned
// checksum, or does not exist.
func (r release) download(ctx context.Context, path, out string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.limit, fmt.Errorf("not within %v", r.limit))
	defer cancel()
	body, err := r.get(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	// What a killed process leaves has another name than a program.
	part := out + ".part"
	defer os.Remove(part)
	sum, err := write(part, io.LimitReader(body, mostBytes))
	if err != nil {
		return fmt.Errorf("download %s: %w", r.address(path), err)
	}
	if sum != r.sums[path] {
		return fmt.Errorf("%s has SHA-256 %s, want %s", r.address(path), sum, r.sums[path])
	}
	if err := os.Rename(part, out); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	return nil
}

// address returns where a path is, for people: a mirror may have a password in its address.
func (r release) address(path string) string {
	address, err := url.Parse(r.url + "/" + path)
	if err != nil {
		return path
	}
	return address.Redacted()
}

// get requests a path. Reads of its body fail when no data arrives for a while.
func (r release) get(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := time.AfterFunc(r.silence, func() { cancel(fmt.Errorf("nothing arrives for %v", r.silence)) })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/"+path, http.NoBody)
	if err != nil {
		silent.Stop()
		return nil, fmt.Errorf("download: %w", err)
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // it is closed with what wraps it
	if err != nil {
		silent.Stop()
		return nil, fmt.Errorf("download %s: %w", r.address(path), because(ctx, err))
	}
	body := &arriving{ReadCloser: response.Body, ctx: ctx, silent: silent, silence: r.silence}
	if response.StatusCode != http.StatusOK {
		body.Close()
		return nil, fmt.Errorf("download %s: %s", r.address(path), response.Status)
	}
	return body, nil
}

// arriving is a body that keeps a clock from running out as long as something arrives.
type arriving struct {
	io.ReadCloser

	ctx     context.Context //nolint:containedctx // it ends the request that the body belongs to
	silent  *time.Timer
	silence time.Duration
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 {
		a.silent.Reset(a.silence)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = because(a.ctx, err)
	}
	return n, err
}

func (a *arriving) Close() error {
	a.silent.Stop()
	return a.ReadCloser.Close()
}

// because returns the cause of the context's cancellation, or the error if the context is not
// done.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// write makes an executable file and returns the SHA-256 of what it has written.
func write(path string, from io.Reader) (sum string, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // it is to be run
	if err != nil {
		return "", fmt.Errorf("make the file: %w", err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), from)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
