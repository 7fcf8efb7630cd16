package devforge

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// service is one of Git's two transfer services.
type service string

const (
	uploadPack  service = "upload-pack"
	receivePack service = "receive-pack"
)

// advertiseRefs answers the first request of each clone, fetch and push: the list of refs.
func (f *Forge) advertiseRefs(w http.ResponseWriter, r *http.Request) {
	svc := service(strings.TrimPrefix(r.URL.Query().Get("service"), "git-"))
	if svc != uploadPack && svc != receivePack {
		http.Error(w, "only the smart protocol is served", http.StatusForbidden)
		return
	}
	repo, _, ok := f.gitAccess(w, r, svc)
	if !ok {
		return
	}
	header(w, svc, "advertisement")
	if !asksForVersion2(r) {
		head := fmt.Sprintf("# service=git-%s\n", svc)
		fmt.Fprintf(w, "%04x%s0000", len(head)+4, head)
	}
	f.serve(flushing{w}, r, gitcmd.Invocation{Args: []string{string(svc), "--stateless-rpc", "--advertise-refs", repo.git.Dir()}})
}

// asksForVersion2 reads the colon-separated list that says which protocol a client speaks.
func asksForVersion2(r *http.Request) bool {
	return slices.Contains(strings.Split(r.Header.Get("Git-Protocol"), ":"), "version=2")
}

// serveRPC handles the RPC request of a fetch or a push.
func (f *Forge) serveRPC(svc service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		repo, by, ok := f.gitAccess(w, r, svc)
		if !ok {
			return
		}
		if want := fmt.Sprintf("application/x-git-%s-request", svc); r.Header.Get("Content-Type") != want {
			http.Error(w, "want content type "+want, http.StatusUnsupportedMediaType)
			return
		}
		body, err := requestBody(r)
		if err != nil {
			http.Error(w, "body is not gzip", http.StatusBadRequest)
			return
		}
		// receive-pack reports progress while the pack still comes in.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			f.log.ErrorContext(r.Context(), "cannot answer while reading", "error", err)
		}
		header(w, svc, "result")
		inv := gitcmd.Invocation{Args: []string{string(svc), "--stateless-rpc", repo.git.Dir()}, Stdin: body}
		if svc == uploadPack {
			f.serve(flushing{w}, r, inv)
			return
		}
		begun, effects := f.beginPush(repo, by.account)
		inv.Stdin = io.TeeReader(body, &begun.commands)
		f.receive(w, r, inv, effects)
	}
}

// receive serves a push. The client gets the last bytes of the answer once the push has had its
// effects, so that whoever waits for git finds pull requests and events as the push leaves them.
func (f *Forge) receive(w http.ResponseWriter, r *http.Request, inv gitcmd.Invocation, effects func(context.Context) error) {
	held := &holdingBack{to: flushing{w}}
	func() {
		// What has been pushed has been pushed, even if the client does not wait to hear of it.
		defer func() {
			if err := effects(context.WithoutCancel(r.Context())); err != nil && !errors.Is(err, gitcmd.ErrClosed) {
				f.log.ErrorContext(r.Context(), "cannot tell what was pushed", "path", r.URL.Path, "error", err)
			}
		}()
		f.serve(held, r, inv)
	}()
	if err := held.release(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// gitAccess finds the repository of a request and who sends it, or answers why it is not served.
func (f *Forge) gitAccess(w http.ResponseWriter, r *http.Request, svc service) (*repository, actor, bool) {
	by, known := f.authenticate(r)
	if !known || by.anonymous && svc == receivePack {
		askForPassword(w)
		return nil, by, false
	}
	repo, err := f.repository(r.Context(), r.PathValue("owner")+"/"+strings.TrimSuffix(r.PathValue("repo"), ".git"))
	role, level := RoleRead, "read"
	if svc == receivePack {
		role, level = RoleWrite, "write"
	}
	switch {
	case by.anonymous && (err != nil || f.roleIn(by, repo) < role):
		askForPassword(w) // what there is stays untold
	case err != nil || f.roleIn(by, repo) < RoleRead:
		http.Error(w, "repository not found", http.StatusNotFound)
	case f.roleIn(by, repo) < role || !by.permissions().allows("contents", level):
		http.Error(w, "write access is not granted", http.StatusForbidden)
	default:
		return repo, by, true
	}
	return nil, by, false
}

func askForPassword(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="devforge"`)
	http.Error(w, "authentication required", http.StatusUnauthorized)
}

// requestBody undoes the compression that git uses for long lists of commits.
func requestBody(r *http.Request) (io.Reader, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r.Body, nil
	}
	return gzip.NewReader(r.Body)
}

func header(w http.ResponseWriter, svc service, kind string) {
	w.Header().Set("Content-Type", fmt.Sprintf("application/x-git-%s-%s", svc, kind))
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
}

// serve runs a service with the response as its output. By the time it can fail the answer
// has begun, so the connection is dropped: a client must not take half an answer for all of it.
func (f *Forge) serve(w io.Writer, r *http.Request, inv gitcmd.Invocation) {
	inv.Stdout = w
	if version := r.Header.Get("Git-Protocol"); version != "" {
		inv.Env = append(inv.Env, "GIT_PROTOCOL="+version)
	}
	err := f.git.Run(r.Context(), inv)
	if err == nil {
		return
	}
	if r.Context().Err() == nil && !errors.Is(err, gitcmd.ErrClosed) {
		f.log.ErrorContext(r.Context(), "cannot serve", "path", r.URL.Path, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// flushing sends progress on at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err != nil {
		return n, err
	}
	return n, http.NewResponseController(f.ResponseWriter).Flush()
}

// flushPacket is how an answer to a push ends: git reads until it has come.
const flushPacket = len("0000")

// holdingBack passes on all but the last bytes, which wait for release.
type holdingBack struct {
	to   io.Writer
	kept []byte
}

func (h *holdingBack) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p...)
	ready := len(h.kept) - flushPacket
	if ready <= 0 {
		return len(p), nil
	}
	if _, err := h.to.Write(h.kept[:ready]); err != nil {
		return 0, err
	}
	h.kept = append(h.kept[:0], h.kept[ready:]...)
	return len(p), nil
}

func (h *holdingBack) release() error {
	_, err := h.to.Write(h.kept)
	return err
}
