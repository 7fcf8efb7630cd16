package devforge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

const (
	apiPrefix  = "/api/v3"
	apiVersion = "2022-11-28"
	jsonType   = "application/json; charset=utf-8"
	docsURL    = "https://docs.github.com/rest"
	// maxBody is GitHub's limit for an encoded blob.
	maxBody = 40 << 20
)

// object is a JSON object.
type object = map[string]any

// call is one request of the API while it is served.
type call struct {
	forge *Forge
	ctx   context.Context //nolint:containedctx // a call is a request: it lives as long as its context
	req   *http.Request
	by    actor
	// repo is the repository that the path names, locked; nil where the path names none.
	repo *repository
	body []byte
	// header is sent with the answer.
	header http.Header
	spent  allowance
}

// answer is the response to a call. A nil body is sent as none, and bytes as they are.
type answer struct {
	status int
	body   any
}

func ok(body any) (answer, error)      { return answer{http.StatusOK, body}, nil }
func created(body any) (answer, error) { return answer{http.StatusCreated, body}, nil }
func noContent() (answer, error)       { return answer{status: http.StatusNoContent}, nil }

// problem is an answer that says why something was not done.
type problem struct {
	status  int
	message string
	fields  []object
}

func (p *problem) Error() string { return fmt.Sprintf("%d: %s", p.status, p.message) }

func refuse(status int, message string) *problem { return &problem{status: status, message: message} }

var errNotFound = refuse(http.StatusNotFound, "Not Found")

// invalid returns GitHub's answer to a body that it can read and not accept.
func invalid(resource, field, code, message string) *problem {
	return &problem{http.StatusUnprocessableEntity, "Validation Failed", []object{
		{"resource": resource, "field": field, "code": code, "message": message},
	}}
}

func (p *problem) object() object {
	body := object{"message": p.message, "documentation_url": docsURL, "status": strconv.Itoa(p.status)}
	if p.fields != nil {
		body["errors"] = p.fields
	}
	return body
}

// api serves the REST API.
func (f *Forge) api() http.Handler {
	table := compileRoutes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What has begun is finished, even if the client does not wait for it.
		c := &call{forge: f, ctx: context.WithoutCancel(r.Context()), req: r, header: w.Header()}
		c.header.Set("X-Github-Request-Id", fmt.Sprintf("%08X", f.ids.next()))
		c.header.Set("X-Github-Api-Version-Selected", apiVersion)
		c.header.Set("Access-Control-Expose-Headers", "ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining")
		result, err := c.answer(table)
		if err != nil {
			result = f.answerError(r, err)
		}
		c.send(w, result)
	})
}

func (f *Forge) answerError(r *http.Request, err error) answer {
	var known *problem
	switch {
	case errors.As(err, &known):
	case errors.Is(err, gitcmd.ErrNotFound):
		known = errNotFound
	case errors.Is(err, gitcmd.ErrClosed):
		panic(http.ErrAbortHandler)
	default:
		f.log.ErrorContext(r.Context(), "cannot answer", "path", r.URL.Path, "error", err)
		known = refuse(http.StatusInternalServerError, "Server Error")
	}
	return answer{known.status, known.object()}
}

// answer finds out who asks for what, and serves it.
func (c *call) answer(table []compiledRoute) (answer, error) {
	by, known := c.forge.authenticate(c.req)
	if !known {
		c.spent = c.forge.limits.look("", c.forge.now())
		return answer{}, refuse(http.StatusUnauthorized, "Bad credentials")
	}
	c.by = by
	if err := c.spend(); err != nil {
		return answer{}, err
	}
	if err := c.readBody(); err != nil {
		return answer{}, err
	}
	path := apiPath(c.req)
	for _, r := range table {
		if r.match(c.req, path) {
			return c.serve(r.route)
		}
	}
	return answer{}, errNotFound
}

func (c *call) spend() error {
	if apiPath(c.req) == "/rate_limit" {
		c.spent = c.forge.limits.look(c.by.budgetName(), c.forge.now())
		return nil
	}
	left, within := c.forge.limits.take(c.by.budgetName(), c.forge.now())
	c.spent = left
	if within {
		return c.spendWrite()
	}
	return refuse(http.StatusForbidden, fmt.Sprintf("API rate limit exceeded for user ID %d.", c.by.account.id))
}

func (c *call) spendWrite() error {
	if c.req.Method == http.MethodGet || c.req.Method == http.MethodHead {
		return nil
	}
	wait := c.forge.limits.takeWrite(c.by.budgetName(), c.forge.now())
	if wait == 0 {
		return nil
	}
	c.header.Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
	return refuse(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
}

func (c *call) readBody() error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, c.req.Body, maxBody))
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, "Request body is too large or incomplete")
	}
	c.body = body
	return nil
}

// serve checks what the caller may do, and holds the repository while the request is served.
func (c *call) serve(r route) (answer, error) {
	if err := c.permit(r.need); err != nil {
		return answer{}, err
	}
	if r.need.role == RoleNone {
		return r.serve(c)
	}
	repo, err := c.findRepository(r.need)
	if err != nil {
		return answer{}, err
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	c.repo = repo
	if err := c.forge.catchUp(c.ctx, repo); err != nil {
		return answer{}, err
	}
	return r.serve(c)
}

// permit checks what does not depend on a repository.
func (c *call) permit(n need) error {
	switch {
	case n.signed && c.by.app == nil:
		return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case !n.signed && c.by.app != nil:
		return refuse(http.StatusForbidden, "This endpoint requires an installation access token")
	case n.known && c.by.anonymous:
		return refuse(http.StatusUnauthorized, "Requires authentication")
	case n.role == RoleNone && !c.by.permissions().allows(n.permission, n.level):
		return c.notGranted()
	}
	return nil
}

func (c *call) notGranted() error {
	if c.by.integration() != nil {
		return refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return refuse(http.StatusForbidden, "Resource not accessible by personal access token")
}

// findRepository answers 404 for what the caller may not see, and 403 for what they may only read.
func (c *call) findRepository(n need) (*repository, error) {
	repo, err := c.forge.repository(c.ctx, c.req.PathValue("owner")+"/"+c.req.PathValue("repo"))
	if err != nil {
		return nil, errNotFound
	}
	role := c.forge.roleIn(c.by, repo)
	switch {
	case role < RoleRead:
		return nil, errNotFound
	case n.role > RoleRead && c.by.anonymous:
		return nil, refuse(http.StatusUnauthorized, "Requires authentication")
	case role < n.role:
		return nil, refuse(http.StatusForbidden, "Must have "+n.role.String()+" rights to Repository.")
	case !c.by.permissions().allows(n.permission, n.level):
		return nil, c.notGranted()
	}
	return repo, nil
}

// send writes the answer, or that the client has it already.
func (c *call) send(w http.ResponseWriter, result answer) {
	if result.body == nil {
		c.spent.writeTo(c.header)
		w.WriteHeader(result.status)
		return
	}
	body, contentType := encode(result.body)
	c.header.Set("Content-Type", contentType)
	if c.req.Method == http.MethodGet && result.status == http.StatusOK {
		tag := etag(c.by.budgetName(), body)
		c.header.Set("ETag", tag)
		c.header.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		c.header.Set("Vary", "Accept, Authorization, Cookie")
		if matchesTag(c.req, tag) {
			c.forge.limits.giveBack(c.by.budgetName(), c.forge.now()).writeTo(c.header)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	c.spent.writeTo(c.header)
	writeBody(w, result.status, body)
}

// encode makes JSON of everything but bytes.
func encode(body any) (encoded []byte, contentType string) {
	if raw, ok := body.([]byte); ok {
		return raw, "application/vnd.github.raw; charset=utf-8"
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err)) // it is made of maps, lists and plain values
	}
	return encoded, jsonType
}

// etag differs from caller to caller, as GitHub's do.
func etag(caller string, body []byte) string {
	return fmt.Sprintf(`W/"%x"`, sha256.Sum256(append([]byte(caller+"\n"), body...)))
}

func matchesTag(r *http.Request, tag string) bool {
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(known), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone has no use for it
}

func writeJSON(w http.ResponseWriter, status int, body object) {
	encoded, contentType := encode(body)
	w.Header().Set("Content-Type", contentType)
	writeBody(w, status, encoded)
}

// decode reads the body of a call.
func decode[T any](c *call) (T, error) {
	var in T
	body := c.body
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return in, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	return in, nil
}

// number returns a path value that must be one: anything else names nothing.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.req.PathValue(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// wantsRaw reports whether the caller asks for the bytes of a file instead of JSON.
func (c *call) wantsRaw() bool {
	accept := c.req.Header.Get("Accept")
	return strings.Contains(accept, ".raw") && strings.HasPrefix(accept, "application/vnd.github")
}

func (c *call) query(name string) string { return c.req.URL.Query().Get(name) }
