package github

import "context"

// GitUser is the name under which Git over HTTP takes a token.
const GitUser = "x-access-token"

// GitToken returns the password with which Git over HTTP lets us at the repository, good for some
// minutes at least. For an app it requests a new one when the last is about to expire.
func (c *Client) GitToken(ctx context.Context) (string, error) {
	token, err := c.credentials.Token(ctx)
	return token, c.explain(err, "get a token for Git")
}

// GitRefused drops a token that the Git server did not accept.
func (c *Client) GitRefused(token string) { c.credentials.Refused(token) }
