package gittest

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Handler serves the repositories below a folder with git http-backend.
type Handler struct {
	backend  cgi.Handler
	requests atomic.Int64
	sent     atomic.Int64
}

// NewHandler returns a handler for the repositories below root.
func NewHandler(root string) (*Handler, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the folder of the repositories: %w", err)
	}
	return &Handler{backend: cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Env: append(gitSettings(),
			"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1"),
	}}, nil
}

// gitSettings returns the part of Environment that is not the process's: a CGI gets
// nothing else.
func gitSettings() []string {
	var settings []string
	for _, variable := range Environment() {
		if strings.HasPrefix(variable, "GIT_") {
			settings = append(settings, variable)
		}
	}
	return settings
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	h.backend.ServeHTTP(&countingWriter{w, &h.sent}, r)
}

// Sent returns how many bytes the answers had.
func (h *Handler) Sent() int64 { return h.sent.Load() }

type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

// Write implements http.ResponseWriter.
func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.sent.Add(int64(n))
	return n, err
}

// Requests returns how many requests were served.
func (h *Handler) Requests() int64 { return h.requests.Load() }
