package access

import (
	"crypto/subtle"
	"errors"
	"mime"
	"net/http"
	"time"
)

// policy is what a page may load, do and be part of: its own assets, its own forms, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Secure gives every answer the headers by which browsers keep others out. A handler may set Cache-Control, for assets.
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

// Limits on what a client may take of the server.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	maxForm       = 8 << 10
)

// Server serves a handler with timeouts and limits. Answers may take as long as they like: some are streams of events.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// guard lets no page of another origin have a browser change anything, and only the methods that the dashboard knows.
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
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			tell(w, r, message{http.StatusMethodNotAllowed, "Not understood", "The dashboard answers GET, HEAD and POST."})
		}
	}))), nil
}

// readForm reads a form of bounded size, in bounded time. It answers itself, and reports false, if it can't.
func readForm(w http.ResponseWriter, r *http.Request) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		tell(w, r, message{http.StatusUnsupportedMediaType, "Not a form", "The dashboard takes forms as its pages send them."})
		return false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer that can't is one of a test
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	_ = control.SetReadDeadline(time.Time{})
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		tell(w, r, message{http.StatusRequestEntityTooLarge, "Too long", "The form is longer than 8 KiB. Shorten what you wrote and send it again."})
		return false
	}
	if err != nil {
		tell(w, r, message{http.StatusBadRequest, "Not understood", "The form could not be read. Go back, load the page again and send it again."})
		return false
	}
	return true
}

// ownForm reads a form and reports whether it carries the token of the session; otherwise it has answered.
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
