package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
	modules "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const (
	// argoSum pins Argo Rollouts, in a checkout.
	argoSum = "hack/argo/module.sum"
	// argoGo is the version in the go line of the module that is built: its own names a patch release
	// that this machine may not have yet.
	argoGo = "1.26.0"
	// argoProgram is its controller, argoCRDs the folder with its kinds, both in a BinDir.
	argoProgram = "rollouts-controller"
	argoCRDs    = "crds"
)

// ArgoBinaries returns Binaries for Argo Rollouts, which the bench measures beside Sluice.
func ArgoBinaries(ctx context.Context, progress io.Writer) (BinDir, error) {
	path, err := InCheckout(argoSum)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read module: %w", err)
	}
	pinned, err := parsePin(string(text))
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", argoSum, err)
	}
	return cached(ctx, progress, pinned.key(), "Argo Rollouts "+pinned.of.Version, func(dir string) error {
		return pinned.build(ctx, dir, progress)
	})
}

// ArgoController returns the path of the controller, of ArgoBinaries.
func (d BinDir) ArgoController() string { return d.Path(argoProgram) }

// ArgoCRDs returns the folder of the definitions of its kinds, of ArgoBinaries.
func (d BinDir) ArgoCRDs() string { return d.Path(argoCRDs) }

// A pin is the version of a module that is built by itself, with the checksum of its source.
type pin struct {
	of  modules.Version
	sum string
}

// parsePin reads the one line of a file that is no comment, in the format of go.sum.
func parsePin(text string) (pin, error) {
	var found []pin
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) == 3:
			found = append(found, pin{modules.Version{Path: fields[0], Version: fields[1]}, fields[2]})
		default:
			return pin{}, fmt.Errorf("line %q is not a module, its version and its checksum", strings.TrimSpace(line))
		}
	}
	if len(found) != 1 {
		return pin{}, fmt.Errorf("want one module, got %d", len(found))
	}
	return found[0], nil
}

// key names what is built of the module.
func (p pin) key() string {
	hash := sha256.Sum256(fmt.Append(nil, p.of.String(), p.sum, argoGo, (&module{}).buildFlags()))
	return fmt.Sprintf("argo-rollouts-%s-%s-%s-%s",
		strings.TrimPrefix(p.of.Version, "v"), runtime.GOOS, runtime.GOARCH, hex.EncodeToString(hash[:])[:12])
}

// build fills dir with the controller, built in a copy of the module, where its own go.sum and
// replace directives hold, and with the definitions of its kinds.
func (p pin) build(ctx context.Context, dir string, progress io.Writer) error {
	return whole(dir, func(tmp string) error {
		source, err := os.MkdirTemp("", "sluice-argo-")
		if err != nil {
			return fmt.Errorf("make a folder to build in: %w", err)
		}
		defer os.RemoveAll(source)
		fmt.Fprintf(progress, "building Argo Rollouts, once, into %s\n", dir)
		err = timed(progress, "downloading "+p.of.String(), func() error { return p.unpack(ctx, source) })
		if err != nil {
			return err
		}
		if err := lowerGo(filepath.Join(source, "go.mod")); err != nil {
			return err
		}
		m := &module{dir: source}
		err = timed(progress, "building "+argoProgram+" "+p.of.Version, func() error {
			return m.goBuild(ctx, filepath.Join(tmp, argoProgram), "./cmd/"+argoProgram)
		})
		if err != nil {
			return fmt.Errorf("build %s: %w", argoProgram, err)
		}
		if err := os.CopyFS(filepath.Join(tmp, argoCRDs), os.DirFS(filepath.Join(source, "manifests/crds"))); err != nil {
			return fmt.Errorf("keep the CRDs: %w", err)
		}
		return nil
	})
}

// unpack downloads the module, and writes its source to dir if it has the pinned checksum.
func (p pin) unpack(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", p.of.String())
	cmd.Dir = dir // no module's
	// That the module asks for a newer Go is no reason to download that. It is an error, though the
	// module has been downloaded then.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local")
	output, failed := cmd.Output()
	var downloaded struct{ Zip, Error string }
	if err := json.NewDecoder(bytes.NewReader(output)).Decode(&downloaded); err != nil {
		return fmt.Errorf("download %s: %w", p.of, errors.Join(failed, err))
	}
	if downloaded.Zip == "" {
		return fmt.Errorf("download %s: %s", p.of, downloaded.Error)
	}
	sum, err := dirhash.HashZip(downloaded.Zip, dirhash.Hash1)
	if err != nil {
		return fmt.Errorf("check %s: %w", p.of, err)
	}
	if sum != p.sum {
		return fmt.Errorf("%s has checksum %s, want %s", p.of, sum, p.sum)
	}
	if err := zip.Unzip(dir, p.of, downloaded.Zip); err != nil {
		return fmt.Errorf("unpack %s: %w", p.of, err)
	}
	return nil
}

// lowerGo has a go.mod ask for no newer Go than argoGo.
func lowerGo(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read module: %w", err)
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return fmt.Errorf("parse module: %w", err)
	}
	file.DropToolchainStmt()
	if err := file.AddGoStmt(argoGo); err != nil {
		return fmt.Errorf("change module: %w", err)
	}
	changed, err := file.Format()
	if err != nil {
		return fmt.Errorf("change module: %w", err)
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return fmt.Errorf("change module: %w", err)
	}
	return nil
}
