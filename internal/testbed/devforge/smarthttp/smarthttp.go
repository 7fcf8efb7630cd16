// Package smarthttp serves bare repositories by Git's smart protocol over HTTP.
//
// Who may do what is for the caller to say, and what a push has for effects: the client of a push
// has the end of its answer once the effects are there.
package smarthttp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// Service is one of Git's two transfer services.
type Service string

// The services.
const (
	UploadPack  Service = "upload-pack"
	ReceivePack Service = "receive-pack"
)

// Server serves repositories by their folders.
type Server struct {
	Git *gitcmd.Runner
	Log *slog.Logger
}

// ServiceOf returns the service that the first request of each clone, fetch and push asks for, or
// refuses the request.
func ServiceOf(w http.ResponseWriter, r *http.Request) (Service, bool) {
	svc := Service(strings.TrimPrefix(r.URL.Query().Get("service"), "git-"))
	if svc != UploadPack && svc != ReceivePack {
		http.Error(w, "only the smart protocol is served", http.StatusForbidden)
		return "", false
	}
	return svc, true
}

// AskForPassword refuses a request of somebody who is not known.
func AskForPassword(w http.ResponseWriter, realm string) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", realm))
	http.Error(w, "authentication required", http.StatusUnauthorized)
}

// AdvertiseRefs answers the first request with the list of refs.
func (s Server) AdvertiseRefs(w http.ResponseWriter, r *http.Request, svc Service, dir string) {
	header(w, svc, "advertisement")
	if !asksForVersion2(r) {
		head := fmt.Sprintf("# service=git-%s\n", svc)
		fmt.Fprintf(w, "%04x%s0000", len(head)+4, head)
	}
	s.serve(flushing{w}, r, gitcmd.Invocation{Args: []string{string(svc), "--stateless-rpc", "--advertise-refs", dir}})
}

// asksForVersion2 reads the colon-separated list that says which protocol a client speaks.
func asksForVersion2(r *http.Request) bool {
	return slices.Contains(strings.Split(r.Header.Get("Git-Protocol"), ":"), "version=2")
}

// Fetch serves the RPC request of a fetch.
func (s Server) Fetch(w http.ResponseWriter, r *http.Request, dir string) {
	if body, ok := s.begin(w, r, UploadPack); ok {
		s.serve(flushing{w}, r, gitcmd.Invocation{Args: []string{string(UploadPack), "--stateless-rpc", dir}, Stdin: body})
	}
}

// Push serves the RPC request of a push. The commands are read as they come in. The client gets the
// last bytes of the answer once the push has had its effects, so that whoever waits for git finds
// pull requests and events as the push leaves them.
func (s Server) Push(w http.ResponseWriter, r *http.Request, dir string, commands *Commands, effects func(context.Context) error) {
	body, ok := s.begin(w, r, ReceivePack)
	if !ok {
		_ = effects(r.Context()) // it had none
		return
	}
	held := &holdingBack{to: flushing{w}}
	func() {
		// What has been pushed has been pushed, even if the client does not wait to hear of it.
		defer func() {
			if err := effects(context.WithoutCancel(r.Context())); err != nil && !errors.Is(err, gitcmd.ErrClosed) {
				s.Log.ErrorContext(r.Context(), "cannot tell what was pushed", "path", r.URL.Path, "error", err)
			}
		}()
		s.serve(held, r, gitcmd.Invocation{Args: []string{string(ReceivePack), "--stateless-rpc", dir}, Stdin: io.TeeReader(body, commands)})
	}()
	if err := held.release(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// begin reads the head of an RPC request, or refuses it.
func (s Server) begin(w http.ResponseWriter, r *http.Request, svc Service) (io.Reader, bool) {
	if want := fmt.Sprintf("application/x-git-%s-request", svc); r.Header.Get("Content-Type") != want {
		http.Error(w, "want content type "+want, http.StatusUnsupportedMediaType)
		return nil, false
	}
	body, err := requestBody(r)
	if err != nil {
		http.Error(w, "body is not gzip", http.StatusBadRequest)
		return nil, false
	}
	// receive-pack reports progress while the pack still comes in.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		s.Log.ErrorContext(r.Context(), "cannot answer while reading", "error", err)
	}
	header(w, svc, "result")
	return body, true
}

// requestBody undoes the compression that git uses for long lists of commits.
func requestBody(r *http.Request) (io.Reader, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r.Body, nil
	}
	return gzip.NewReader(r.Body)
}

func header(w http.ResponseWriter, svc Service, kind string) {
	w.Header().Set("Content-Type", fmt.Sprintf("application/x-git-%s-%s", svc, kind))
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
}

// serve runs a service with the response as its output. By the time it can fail the answer
// has begun, so the connection is dropped: a client must not take half an answer for all of it.
func (s Server) serve(w io.Writer, r *http.Request, inv gitcmd.Invocation) {
	inv.Stdout = w
	if version := r.Header.Get("Git-Protocol"); version != "" {
		inv.Env = append(inv.Env, "GIT_PROTOCOL="+version)
	}
	err := s.Git.Run(r.Context(), inv)
	if err == nil {
		return
	}
	if r.Context().Err() == nil && !errors.Is(err, gitcmd.ErrClosed) {
		s.Log.ErrorContext(r.Context(), "cannot serve", "path", r.URL.Path, "error", err)
	}
	panic(http.ErrAbortHandler)
}
