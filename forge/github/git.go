package github

import "context"

// GitUser is the name under which Git over HTTP takes a token.
const GitUser = "x-access-token"

// GitToken is the password with which Git over HTTP lets us at the repository, good for some minutes at
// least. Of an app it is asked for anew when the one before is about to end.
func (c *Client) GitToken(ctx context.Context) (string, error) {
	token, err := c.credentials.token(ctx)
	return token, c.explain(err, "get a token for Git")
}

// GitRefused is to be told of a token that Git was not let in with.
func (c *Client) GitRefused(token string) { c.credentials.refused(token) }
