package gitrepo

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// exchange is one conversation with a server: the list of references and, after
// it, at most one pack. Its errors are of this package.
type exchange struct {
	session session
	meter   *meter
	timeout time.Duration
	// refs and capabilities that the server advertises.
	refs *packp.AdvRefs
}

// openExchange connects and reads the list of references. The exchange must be closed.
func (r *remote) openExchange(ctx context.Context, timeout time.Duration) (*exchange, error) {
	c := r.connector
	x := &exchange{meter: &meter{limits: r.limits, branch: r.branch}, timeout: timeout}
	return x, x.limited(ctx, func(ctx context.Context) (err error) {
		if x.session, err = c.open(ctx, x.meter); err != nil {
			return err
		}
		if x.refs, err = x.session.AdvertisedReferencesContext(ctx); err != nil {
			x.close()
		}
		return err
	})
}

func (x *exchange) close() { _ = x.session.Close() }

// limited runs one step with its timeout and classifies its error.
func (x *exchange) limited(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	return classify(ctx, x.meter.explain(step(ctx)), x.timeout)
}

// pack asks for a pack and unpacks it.
func (x *exchange) pack(ctx context.Context, req *packp.UploadPackRequest, into *unpacker) (found objects, err error) {
	err = x.limited(ctx, func(ctx context.Context) error {
		found, err = x.unpack(ctx, req, into)
		return err
	})
	return found, err
}

func (x *exchange) unpack(ctx context.Context, req *packp.UploadPackRequest, into *unpacker) (objects, error) {
	resp, err := x.session.UploadPack(ctx, req)
	if errors.Is(err, transport.ErrEmptyUploadPackRequest) {
		return objects{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	x.meter.begun.Store(true)
	body := x.meter.cap(resp, x.meter.limits.PackBytes, "the pack")
	return into.read(demultiplexed(req.Capabilities, body))
}

// demultiplexed takes the pack out of the channels it is sent in.
func demultiplexed(caps *capability.List, body io.Reader) io.Reader {
	switch {
	case caps.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, body)
	case caps.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, body)
	}
	return body
}

// newRequest asks for the history of a commit down to a depth.
func newRequest(server *capability.List, want plumbing.Hash, depth int) *packp.UploadPackRequest {
	req := packp.NewUploadPackRequestFromCapabilities(server)
	req.Wants = []plumbing.Hash{want}
	if server.Supports(capability.NoProgress) {
		_ = req.Capabilities.Set(capability.NoProgress) // it takes no arguments: it can't fail
	}
	if server.Supports(capability.Shallow) {
		_ = req.Capabilities.Set(capability.Shallow)
		req.Depth = packp.DepthCommits(depth)
	}
	return req
}

// have tells the server that we have a commit, without its ancestors.
func have(req *packp.UploadPackRequest, commit plumbing.Hash) {
	req.Haves = []plumbing.Hash{commit}
	if req.Capabilities.Supports(capability.Shallow) {
		req.Shallows = []plumbing.Hash{commit}
	}
	// go-git can't read the answers to these. With one commit to tell there is nothing to gain.
	req.Capabilities.Delete(capability.MultiACK)
	req.Capabilities.Delete(capability.MultiACKDetailed)
}

// wholeObjects keeps the server from sending objects as changes of ones that it
// knows us to have.
func wholeObjects(req *packp.UploadPackRequest) { req.Capabilities.Delete(capability.ThinPack) }

// filter asks the server to leave objects out, if it can.
func filter(req *packp.UploadPackRequest, server *capability.List, what packp.Filter) bool {
	if !server.Supports(capability.Filter) {
		return false
	}
	_ = req.Capabilities.Set(capability.Filter)
	req.Filter = what
	return true
}
