package access

import (
	"crypto/subtle"
	"errors"
	"mime"
	"net/http"
	"time"
)

// policy says what a page may load, do and be embedded in: its own assets and forms, and nothing
// else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Secure adds the security headers to every response. A handler may set Cache-Control, for assets.
func Secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()")
		next.ServeHTTP(w, r)
	})
}

// Limits on what a client may use of the server.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	maxForm       = 8 << 10
)

// Server serves a handler with timeouts and limits. Answers may take as long as they like, since
// some are streams of events, but the client must take each write in time.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           hurried(handler),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// hurried bounds how long a client takes to send and to read, whatever answers it. Without that
// net/http waits forever for a body that nobody has asked for, and for a client that reads nothing.
// Who asks for a page sends no body.
func hurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paced := &pacedWriter{w, http.NewResponseController(w)}
		paced.hurry()
		defer paced.hurry() // net/http writes the end of an answer
		if r.ContentLength == 0 {
			next.ServeHTTP(paced, r)
			return
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			_ = paced.control.SetReadDeadline(time.Now()) // it is not waited for
			w.Header().Set("Connection", "close")
			http.Error(paced, "a request for a page has no body", http.StatusBadRequest)
			return
		}
		_ = paced.control.SetReadDeadline(time.Now().Add(bodyTimeout))
		next.ServeHTTP(paced, r)
	})
}

// pacedWriter sets a deadline for each write.
type pacedWriter struct {
	http.ResponseWriter

	control *http.ResponseController
}

// hurry sets the deadline of the next write. Only writers of tests have no deadlines.
func (w *pacedWriter) hurry() { _ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// Unwrap supports http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) WriteHeader(status int) {
	w.hurry()
	w.ResponseWriter.WriteHeader(status)
}

func (w *pacedWriter) Write(data []byte) (int, error) {
	w.hurry()
	return w.ResponseWriter.Write(data)
}

// FlushError implements flushing for http.ResponseController.
func (w *pacedWriter) FlushError() error {
	w.hurry()
	return w.control.Flush()
}

// guard refuses changes that pages of other origins request, and methods that the dashboard does
// not know.
func guard(trusted string, next http.Handler) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	if trusted != "" {
		if err := protection.AddTrustedOrigin(trusted); err != nil {
			return nil, err
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tell(w, r, message{http.StatusForbidden, "Sent from another page", "This came from a page that is not the dashboard's, and nothing was changed. " +
			"Open the dashboard itself and try again. If a proxy serves it under another name, --external-url has to name that address."})
	}))
	return Secure(protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fetched(r) {
			http.Error(w, "a page of another origin has requested this", http.StatusForbidden)
			return
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			tell(w, r, message{http.StatusMethodNotAllowed, "Not understood", "The dashboard answers GET, HEAD and POST."})
		}
	}))), nil
}

// fetched reports whether a page of another origin has requested something in a person's name other
// than by leading there: as a picture, a frame, a script or a stream. It can read none of it, but
// pages of sibling domains have browsers send the session, and would take the person's streams and
// turns.
func fetched(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-site", "cross-site":
		to := r.Header.Get("Sec-Fetch-Dest")
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || to != "" && to != "document"
	default: // the dashboard itself, the address bar, or no browser
		return false
	}
}

// readForm reads a form of bounded size, in bounded time. It answers itself, and reports false, if
// it can't.
func readForm(w http.ResponseWriter, r *http.Request) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		tell(w, r, message{http.StatusUnsupportedMediaType, "Not a form", "The dashboard takes forms as its pages send them."})
		return false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer that can't is one of a test
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		tell(w, r, message{http.StatusRequestEntityTooLarge, "Too long", "The form is longer than 8 KiB. Shorten what you wrote and send it again."})
		return false
	}
	if err != nil {
		tell(w, r, message{http.StatusBadRequest, "Not understood", "The form could not be read. Go back, load the page again and send it again."})
		return false
	}
	_ = control.SetReadDeadline(time.Time{}) // the body is here; of one that is not, net/http reads the rest after the answer
	return true
}

// ownForm reads a form and reports whether it carries the token of the session; otherwise it has
// answered.
func ownForm(w http.ResponseWriter, r *http.Request, token string) bool {
	if !readForm(w, r) {
		return false
	}
	if !same(r.PostForm.Get(CSRFField), token) {
		tell(w, r, message{http.StatusForbidden, "The page is too old", "The form is not of this session, and nothing was changed. Load the page again and send it again."})
		return false
	}
	return true
}

// same compares secrets without revealing where they differ.
func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
