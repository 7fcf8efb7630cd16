package gitrepo

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitfile "github.com/go-git/go-git/v5/plumbing/transport/file"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// session is one conversation with git-upload-pack. What UploadPack returns must
// be closed before the session is.
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
	dial := newDialer(opts.DeniedNetworks)
	switch ep.Protocol {
	case "ssh":
		return newSSHConnector(ep, src.Auth, dial)
	case "file":
		return fileConnector{ep}, nil
	default:
		return newHTTPConnector(ep, src.Auth, dial)
	}
}

// fileConnector runs git-upload-pack on a local repository.
type fileConnector struct{ endpoint *transport.Endpoint }

func (c fileConnector) open(context.Context, *meter) (session, error) {
	return gitfile.DefaultClient.NewUploadPackSession(c.endpoint, nil)
}

// newDialer returns a dialer that refuses addresses in the denied networks.
func newDialer(denied []netip.Prefix) *net.Dialer {
	return dialer.New(30*time.Second, denied, func(ip netip.Addr) error {
		return newError(Invalid, "connections to %s are not allowed", ip)
	})
}
