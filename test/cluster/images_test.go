package cluster

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/test/node"
	"github.com/sluice-dev/sluice/test/node/image"
)

const (
	sluiceImage = "ghcr.io/sluice-dev/sluice:test"
	loadImage   = "sluice.test/load:test"
	shopImage   = "sluice.test/shop:" // a version follows
	authorities = "/etc/ssl/certs/ca-certificates.crt"
)

// versions are those of the service. They are one image by several names: what its pods answer is
// in their environment.
var versions = []string{"v1", "v2", "v3", "v4", "v5"}

// prepared holds the images and programs that all tests of a run share.
var prepared struct {
	once sync.Once
	// programs is a folder for the programs of images.
	programs string
	// sluice is the path of the program; empty if Sluice could not be installed.
	sluice string
}

func TestMain(m *testing.M) {
	var err error
	if prepared.programs, err = os.MkdirTemp("", "sluice-images-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(prepared.programs)
	os.Exit(code)
}

// prepare imports all images, installs Sluice, and returns the path of the program. It does so once
// for all tests.
func (c *cluster) prepare() (sluice string) {
	c.Helper()
	prepared.once.Do(func() {
		sluice := c.importImages()
		c.install(sluice)
		prepared.sluice = sluice
	})
	if prepared.sluice == "" {
		c.Fatal("Sluice is not installed: the test that was to do it has failed")
	}
	return prepared.sluice
}

// importImages builds all images and imports them, and returns the path of sluice.
func (c *cluster) importImages() string {
	c.Helper()
	var shops []string
	for _, version := range versions {
		shops = append(shops, shopImage+version)
	}
	c.importImage("examples/service", nil, shops...)
	c.importImage("test/cluster/load", nil, loadImage)
	// As the Dockerfile has it.
	return c.importImage("cmd/sluice", []image.File{{Place: authorities, Source: authorities, Mode: 0o644}}, sluiceImage)
}

// importImage makes an image of a program, imports it, and returns the path of the program.
func (c *cluster) importImage(source string, files []image.File, names ...string) string {
	c.Helper()
	source, err := controlplane.InCheckout(source)
	if err != nil {
		c.Fatal(err)
	}
	name := filepath.Base(source)
	program := filepath.Join(prepared.programs, name)
	if err := image.BuildProgram(c.Context(), source, program, "-ldflags", "-s -w"); err != nil {
		c.Fatal(err)
	}
	archive := program + ".tar"
	built := image.Image{
		Program: "/" + name,
		Files:   append([]image.File{{Place: "/" + name, Source: program, Mode: 0o755}}, files...),
		OS:      "linux", Architecture: runtime.GOARCH,
	}
	if err := built.WriteArchive(archive, names...); err != nil {
		c.Fatal(err)
	}
	c.command(node.ImportEnv, archive)
	return program
}
