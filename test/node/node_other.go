//go:build !linux

package node

import (
	"context"
	"errors"
	"io"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// Address is the address of this machine inside.
const Address = ""

var errLinux = errors.New("a real node takes Linux")

// Check says what is missing here.
func Check() error { return errLinux }

// Enclose implements it for Linux.
func Enclose(context.Context) (int, error) { return 0, errLinux }

// Inside returns false: there are no nodes on other systems than Linux.
func Inside() bool { return false }

// Dir implements it for Linux.
func Dir(string) string { return "" }

// Start returns an error on other systems than Linux.
func Start(context.Context, *controlplane.ControlPlane, io.Writer) error { return errLinux }

// Environment implements it for Linux.
func Environment() []string { return nil }
