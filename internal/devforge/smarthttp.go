package devforge

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
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
	dir, ok := f.requestedRepository(w, r)
	if !ok {
		return
	}
	header(w, svc, "advertisement")
	if !asksForVersion2(r) {
		head := fmt.Sprintf("# service=git-%s\n", svc)
		fmt.Fprintf(w, "%04x%s0000", len(head)+4, head)
	}
	f.serve(w, r, invocation{args: []string{string(svc), "--stateless-rpc", "--advertise-refs", dir}})
}

// asksForVersion2 reads the colon-separated list that says which protocol a client speaks.
func asksForVersion2(r *http.Request) bool {
	return slices.Contains(strings.Split(r.Header.Get("Git-Protocol"), ":"), "version=2")
}

// serveRPC answers the request that carries the work: what is wanted, or what is pushed.
func (f *Forge) serveRPC(svc service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		dir, ok := f.requestedRepository(w, r)
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
		f.serve(w, r, invocation{args: []string{string(svc), "--stateless-rpc", dir}, stdin: body})
	}
}

// requestedRepository finds the repository of a request, or answers that there is none.
func (f *Forge) requestedRepository(w http.ResponseWriter, r *http.Request) (string, bool) {
	name := r.PathValue("owner") + "/" + strings.TrimSuffix(r.PathValue("repo"), ".git")
	dir, err := f.repositoryDir(name)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		http.Error(w, "repository not found", http.StatusNotFound)
		return "", false
	}
	return dir, true
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
func (f *Forge) serve(w http.ResponseWriter, r *http.Request, inv invocation) {
	inv.stdout = flushing{w}
	if version := r.Header.Get("Git-Protocol"); version != "" {
		inv.env = append(inv.env, "GIT_PROTOCOL="+version)
	}
	err := f.git.run(r.Context(), inv)
	if err == nil {
		return
	}
	if r.Context().Err() == nil && !errors.Is(err, errClosed) {
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
