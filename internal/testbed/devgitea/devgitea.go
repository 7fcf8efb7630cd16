// Package devgitea runs a real Gitea on loopback, for tests and the demo.
package devgitea

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"text/template"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// Options say where a server keeps its files.
type Options struct {
	// Dir is for the database, the repositories and the log.
	Dir string
	// Programs is the folder that controlplane.GiteaBinaries returns.
	Programs controlplane.BinDir
}

// Server is a Gitea, which ends with Close, or with the process.
type Server struct {
	url     string
	dir     string
	gitea   string
	program *controlplane.Program
	admin   string
	tokens  atomic.Int64
	// owners is held while an organization is made, which Gitea can do once at a time.
	owners sync.Mutex
}

// adminName is the account of Server itself.
const adminName = "keeper"

// Password is the password of all accounts.
const Password = "correct-horse-battery"

var settings = template.Must(template.New("app.ini").Parse(`I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
APP_NAME = Gitea
RUN_MODE = prod
WORK_PATH = {{.Dir}}
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {{.Port}}
ROOT_URL = http://127.0.0.1:{{.Port}}/
STATIC_ROOT_PATH = {{.Static}}
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 30000
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
DISABLE_WEBHOOKS = false
SUCCESSFUL_TOKENS_CACHE_SIZE = 1000
[service]
DISABLE_REGISTRATION = true
NO_REPLY_ADDRESS = noreply.localhost
[webhook]
ALLOWED_HOST_LIST = loopback
[repository]
DEFAULT_PUSH_CREATE_PRIVATE = false
[actions]
ENABLED = false
[git.config]
core.fsync = none
gc.auto = 0
maintenance.auto = false
receive.autogc = false
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
LEVEL = Warn
MODE = console
`))

// Start starts a server on a free port of loopback, and returns once it answers.
func Start(ctx context.Context, opts Options) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{url: fmt.Sprintf("http://127.0.0.1:%d", port), dir: opts.Dir, gitea: opts.Programs.Path("gitea")}
	var ini bytes.Buffer
	if err := settings.Execute(&ini, map[string]any{"Dir": opts.Dir, "Port": port, "Static": string(opts.Programs)}); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	if err := os.WriteFile(s.config(), ini.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	if _, err := s.command(ctx, "migrate"); err != nil {
		return nil, err
	}
	output, err := s.command(ctx, "admin", "user", "create", "--username", adminName, "--password", Password, "--email", adminName+"@localhost.test",
		"--admin", "--must-change-password=false", "--access-token", "--access-token-scopes", "all")
	if err != nil {
		return nil, err
	}
	token := regexp.MustCompile(`[0-9a-f]{40}`).Find(output)
	if token == nil {
		return nil, errors.New("start Gitea: it gave no token")
	}
	s.admin = string(token)
	if s.program, err = controlplane.StartProgram(s.gitea, s.arguments("web"), s.environment(), opts.Dir); err != nil {
		return nil, fmt.Errorf("start Gitea: %w", err)
	}
	answers := func(ctx context.Context) error { return s.Call(ctx, "", http.MethodGet, "/version", nil, nil) }
	if err := s.program.Await(ctx, "Gitea to answer", answers); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func freePort(ctx context.Context) (int, error) {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) config() string { return filepath.Join(s.dir, "app.ini") }

func (s *Server) arguments(args ...string) []string {
	return append([]string{"--config", s.config(), "--work-path", s.dir}, args...)
}

// environment spares the garbage collector: each push starts Gitea several times, as its hooks.
func (s *Server) environment() []string {
	return []string{"GITEA_WORK_DIR=" + s.dir, "HOME=" + s.dir, "GOGC=1000", "GOMEMLIMIT=600MiB"}
}

func (s *Server) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.gitea, s.arguments(args...)...)
	cmd.Env = append(os.Environ(), s.environment()...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run gitea %s: %w\n%s", args[0], err, problem.Bytes())
	}
	return output, nil
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.url }

// Log returns the path of what the server has said.
func (s *Server) Log() string { return s.program.Log() }

// Close ends the server.
func (s *Server) Close() { s.program.Stop() }

// RefusedError is an answer that is no success.
type RefusedError struct {
	Status int
	Body   string
}

// Error says what was answered.
func (e *RefusedError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Body) }

// Call sends in as JSON to a path below the API's root, with a token, and reads the answer into
// out. Without a token it is the administrator who sends. An answer that is no success is a
// *RefusedError.
//
//nolint:revive // the parts of an HTTP request
func (s *Server) Call(ctx context.Context, token, method, path string, in, out any) error {
	return s.send(ctx, func(r *http.Request) { r.Header.Set("Authorization", "token "+cmp.Or(token, s.admin)) }, method, path, in, out)
}

//nolint:revive // as Call, with who signs
func (s *Server) send(ctx context.Context, sign func(*http.Request), method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	sign(request)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case response.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %w", method, path, &RefusedError{Status: response.StatusCode, Body: string(answer)})
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: read answer: %w", method, path, err)
	}
	return nil
}

// CreateUser makes an account, and returns a token that may do all that the account may.
func (s *Server) CreateUser(ctx context.Context, login string) (token string, err error) {
	user := map[string]any{"username": login, "email": login + "@localhost.test", "password": Password, "must_change_password": false}
	if err := s.Call(ctx, "", http.MethodPost, "/admin/users", user, nil); err != nil {
		return "", err
	}
	return s.CreateToken(ctx, login, "all")
}

// CreateToken makes a token of an account with scopes, such as write:repository.
func (s *Server) CreateToken(ctx context.Context, login string, scopes ...string) (string, error) {
	var made struct {
		Token string `json:"sha1"`
	}
	asked := map[string]any{"name": fmt.Sprintf("token-%d", s.tokens.Add(1)), "scopes": scopes}
	err := s.send(ctx, func(r *http.Request) { r.SetBasicAuth(login, Password) }, http.MethodPost, "/users/"+login+"/tokens", asked, &made)
	return made.Token, err
}

// CreateRepository makes OWNER/NAME with one commit on its branch, and the organization that owns
// it if there is none.
func (s *Server) CreateRepository(ctx context.Context, owner, name, branch string, files map[string]string) error {
	s.owners.Lock()
	err := s.Call(ctx, "", http.MethodPost, "/orgs", map[string]string{"username": owner}, nil)
	s.owners.Unlock()
	if refused, is := errors.AsType[*RefusedError](err); err != nil && (!is || refused.Status != http.StatusUnprocessableEntity) {
		return err
	}
	made := map[string]any{"name": name, "default_branch": branch, "auto_init": false, "private": true}
	if err := s.Call(ctx, "", http.MethodPost, "/orgs/"+owner+"/repos", made, nil); err != nil {
		return err
	}
	var changes []map[string]any
	for path, content := range files {
		changes = append(changes, map[string]any{"operation": "create", "path": path, "content": []byte(content)})
	}
	commit := map[string]any{"branch": branch, "message": "Begin", "files": changes}
	return s.Call(ctx, "", http.MethodPost, "/repos/"+owner+"/"+name+"/contents", commit, nil)
}

// Until tries something until the server does it: it checks pull requests in its own time.
func Until(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := do(ctx)
		refused, is := errors.AsType[*RefusedError](err)
		if !is || refused.Status != http.StatusMethodNotAllowed && refused.Status != http.StatusInternalServerError {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
