package gitrepo

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitfile "github.com/go-git/go-git/v5/plumbing/transport/file"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// session is one conversation with git-upload-pack. The result of UploadPack must be closed before
// the session is.
type session interface {
	AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error)
	UploadPack(context.Context, *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	io.Closer
}

// connector opens sessions with one repository.
type connector interface {
	open(context.Context, *meter) (session, error)
}

// keepCapabilities makes go-git tell us all that a server offers. It strips what its
// own Fetch can't use, but this package makes its own requests: it reads thin packs,
// and asks for multi_ack only where it has nothing to negotiate (some servers insist
// on it).
var keepCapabilities = sync.OnceFunc(func() {
	transport.UnsupportedCapabilities = []capability.Capability{}
})

// newConnector checks the source's address and credentials.
func newConnector(src Source, opts Options) (connector, error) {
	ep, err := src.endpoint(opts)
	if err != nil {
		return nil, err
	}
	switch ep.Protocol {
	case "ssh":
		return newSSHConnector(ep, src.Auth, dialer.New(dialTimeout, opts.Networks, refused))
	case "file":
		return fileConnector{ep}, nil
	default:
		return newHTTPConnector(ep, src.Auth, opts.Networks)
	}
}

// fileConnector runs git-upload-pack on a local repository.
type fileConnector struct{ endpoint *transport.Endpoint }

func (c fileConnector) open(context.Context, *meter) (session, error) {
	for _, name := range []string{"config", ".git/config"} {
		if file, err := os.Open(filepath.Join(c.endpoint.Path, name)); err == nil {
			settings, err := config.ReadConfig(file)
			file.Close()
			if err == nil && strings.EqualFold(settings.Raw.Section("extensions").Option("objectformat"), "sha256") {
				return nil, errSHA256
			}
		}
	}
	return gitfile.DefaultClient.NewUploadPackSession(c.endpoint, nil)
}

const dialTimeout = 30 * time.Second

// refused returns the error of a connection to a denied network.
func refused(ip netip.Addr) error {
	return newError(Invalid, "connections to %s are not allowed: if a Git server is there, add it to the controller's --git-allowed-networks", ip)
}
