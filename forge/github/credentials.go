package github

import (
	"net/http"
	"net/url"

	"github.com/sluice-dev/sluice/forge/wire"
)

func (c *Client) newCredentials(opts Options, all *Clients, base *url.URL, network http.RoundTripper) (wire.Credentials, error) {
	if opts.App == nil {
		return wire.Token(opts.Token), nil
	}
	key, err := opts.App.signer(opts.Now)
	if err != nil {
		return nil, err
	}
	itself := opts.limitKey()
	itself.owner = ""
	return &installation{
		client: c,
		app:    *opts.App,
		api:    c.newAPI(opts, base, network, key, all.limitOf(itself, opts.Now)),
		now:    opts.Now,
		turn:   make(chan struct{}, 1),
	}, nil
}
