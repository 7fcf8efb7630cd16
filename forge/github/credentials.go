package github

import (
	"context"
	"net/http"
	"net/url"
)

// credentials say who we are.
type credentials interface {
	// token returns a token that is good for some minutes at least.
	token(ctx context.Context) (string, error)
	// refused drops a token that the forge did not accept.
	refused(token string)
	// identity stays the same for as long as the same answers are to be expected.
	identity() string
}

func (c *Client) newCredentials(opts Options, all *Clients, base *url.URL, network http.RoundTripper) (credentials, error) {
	if opts.App == nil {
		return personal(opts.Token), nil
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

// personal is a token that a user made.
type personal string

func (p personal) token(context.Context) (string, error) { return string(p), nil }

// refused does nothing: the owner of the token has to make another.
func (p personal) refused(string) {}

// identity needs no more: a client has only the one token.
func (p personal) identity() string { return "token" }
