// Package image makes container images of static programs, without anything that builds
// containers: what "docker save" would write of an image FROM scratch.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// User is whom programs run as, as user and group: nobody that the machine knows, and not root.
const User = "65532:65532"

// An Image is a file system with one program in it, which it starts as User.
type Image struct {
	// Program is the path of the program in the image.
	Program string
	// Files are all there is in the image, the program among them.
	Files []File
	// OS and Architecture are the platform of the program.
	OS, Architecture string
}

// A File is one file of an image.
type File struct {
	// Place is its path in the image, Source that of where it comes from.
	Place, Source string
	// Mode are its permissions.
	Mode int64
}

// WriteArchive writes the image to a file, under all the names given, for "ctr image import",
// "docker load" or "kind load image-archive".
func (i Image) WriteArchive(file string, names ...string) error {
	built, err := i.build()
	if err != nil {
		return err
	}
	named := map[name.Tag]v1.Image{}
	for _, n := range names {
		tag, err := name.NewTag(n, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("name image: %w", err)
		}
		named[tag] = built
	}
	if err := tarball.MultiWriteToFile(file, named); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

func (i Image) build() (v1.Image, error) {
	content, err := i.archive()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("add layer: %w", err)
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = i.OS, i.Architecture
	config.Config = v1.Config{Entrypoint: []string{i.Program}, User: User}
	built, err = mutate.ConfigFile(built, config)
	if err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	return built, nil
}

// archive returns the file system of the image. It says nothing of times and owners: the same files
// make the same image.
func (i Image) archive() ([]byte, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, f := range i.Files {
		data, err := os.ReadFile(f.Source)
		if err != nil {
			return nil, fmt.Errorf("read file of image: %w", err)
		}
		header := &tar.Header{Name: f.Place, Mode: f.Mode, Size: int64(len(data)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
		if _, err := w.Write(data); err != nil {
			return nil, fmt.Errorf("write layer: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	return content.Bytes(), nil
}
