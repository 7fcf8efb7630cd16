package gitrepo_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

const secret = "s3cr3t-t0k3n"

// withPassword lets in who gives the user ada and the secret.
func withPassword(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ada" || password != secret {
			http.Error(w, "who are you, "+user+":"+password+"?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		wrap func(http.Handler) http.Handler
		auth gitrepo.Auth
		want gitrepo.Kind
		says string
	}{
		{"password", withPassword, gitrepo.Auth{Username: "ada", Password: secret}, "", ""},
		{"wrong password", withPassword, gitrepo.Auth{Username: "ada", Password: "wrong-password", From: "Secret git"}, gitrepo.Denied,
			`the server refused user "ada" of Secret git`},
		{"a token as user", withPassword, gitrepo.Auth{Username: "wrong-password", Password: "x-oauth-basic"}, gitrepo.Denied,
			"the server refused the username and password"},
		{"no password", withPassword, gitrepo.Auth{}, gitrepo.Denied, "the server refused a request without credentials: name a Secret"},
		{"token", withToken, gitrepo.Auth{BearerToken: secret}, "", ""},
		{"wrong token", withToken, gitrepo.Auth{BearerToken: "wrong-password", From: "Secret git"}, gitrepo.Denied, "the server refused the bearer token of Secret git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tt.wrap)
			s.write(t, map[string]string{"a": "a"})
			src := s.source()
			tt.auth.CABundle = src.Auth.CABundle
			src.Auth = tt.auth
			_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
			if tt.want == "" && err == nil {
				return
			}
			wantError(t, err, tt.want, tt.says)
			if err != nil && (strings.Contains(err.Error(), "wrong-password") || strings.Contains(err.Error(), "authentication required")) {
				t.Errorf("error %q holds the password, or says the same twice", err)
			}
		})
	}
}

// TestCredentialsAreNotShared: a source that does not know the password must get nothing from one
// that does.
func TestCredentialsAreNotShared(t *testing.T) {
	t.Parallel()
	s := newServer(t, withPassword)
	s.write(t, map[string]string{"a": "a"})
	r := newReader(gitrepo.Options{})
	src := s.source()
	src.Auth.Username, src.Auth.Password = "ada", secret
	read(t, r, src, gitrepo.Known{})
	_, err := r.Read(t.Context(), s.source(), gitrepo.Known{})
	wantError(t, err, gitrepo.Denied)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url  string
		want string
	}{
		{"", "https://"},
		{"apps", "https://"},
		{"/srv/git/apps", "https://"},
		{"file:///srv/git/apps", "https://"},
		{"http://example.com/apps", "https://"},
		{"git://example.com/apps", "https://"},
		{"https://", "host"},
		{"https://example.com", "path"},
		{"https://ada:" + secret + "@example.com/apps", "Secret"},
		{"https://ada:" + secret + "@exa mple.com/apps", "address"},
		{"https://example.com/apps\x00", "address"},
	}
	r := newReader(gitrepo.Options{})
	for _, tt := range tests {
		_, err := r.Read(t.Context(), gitrepo.Source{URL: tt.url, Branch: "main"}, gitrepo.Known{})
		wantError(t, err, gitrepo.Invalid, tt.want)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("error %q holds the password", err)
		}
	}
}

// TestRemoteHelpersAreHosts: Git's own helpers, which run commands, are hosts here like any other.
func TestRemoteHelpersAreHosts(t *testing.T) {
	t.Parallel()
	src := gitrepo.Source{URL: "ext::sh -c id", Branch: "main"}
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.InvalidAuth, "private key")
}

func TestBranchNames(t *testing.T) {
	t.Parallel()
	r := newReader(gitrepo.Options{})
	for _, branch := range []string{"", "a..b", "a b", "a\nb", "-", "x.lock", "~", "@"} {
		src := gitrepo.Source{URL: "https://example.invalid/apps", Branch: branch}
		_, err := r.Read(t.Context(), src, gitrepo.Known{})
		wantError(t, err, gitrepo.Invalid, "branch")
	}
	s := newServer(t, nil)
	want := s.commit(t, gittest.Commit{Branch: "straße/2026,11", Files: map[string]string{"a": "a"}})
	src := s.source()
	src.Branch = "straße/2026,11"
	if got := read(t, r, src, gitrepo.Known{}); got.Commit != want {
		t.Errorf("a branch whose name has letters beyond ASCII: got %s, want %s", got.Commit, want)
	}
}

// TestSHA256: a repository of SHA-256 is not supported, and says so over each protocol; it is no
// fault that a retry mends.
func TestSHA256(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := newServer(t, nil)
	s.git(t, nil, "init", "-q", "--bare", "--object-format=sha256", root+"/r.git")
	tree := s.git(t, nil, "-C", root+"/r.git", "hash-object", "-t", "tree", "-w", "/dev/null")
	commit := s.git(t, nil, "-C", root+"/r.git", "-c", "user.name=A", "-c", "user.email=a@b", "commit-tree", "-m", "x", tree)
	s.git(t, nil, "-C", root+"/r.git", "update-ref", "refs/heads/main", commit)
	handler, err := gittest.NewHandler(root)
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	for _, url := range []string{served.URL + "/r.git", "file://" + root + "/r.git"} {
		_, err := newReader(gitrepo.Options{AllowHTTP: true, AllowFile: true}).Read(t.Context(), gitrepo.Source{URL: url, Branch: "main"}, gitrepo.Known{})
		wantError(t, err, gitrepo.Invalid, "SHA-256", "not supported")
	}
}

func TestBranchGone(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), s.source(), gitrepo.Known{})
	wantError(t, err, gitrepo.BranchNotFound)

	s.write(t, map[string]string{"a": "a"})
	s.commit(t, gittest.Commit{Branch: "other", Files: map[string]string{"a": "a"}})
	r := newReader(gitrepo.Options{})
	head := read(t, r, s.source(), gitrepo.Known{})
	if _, err := s.Git(nil, "update-ref", "-d", "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Read(t.Context(), s.source(), gitrepo.Known{Ancestor: head.Commit, Content: head.Commit})
	wantError(t, err, gitrepo.BranchNotFound, "main")
	s.write(t, map[string]string{"a": "back"})
	read(t, r, s.source(), gitrepo.Known{})
}

func TestRepositoryMissing(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	src := s.source()
	src.URL += "-not"
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.RepositoryNotFound)
}

func TestServerDown(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	want := s.write(t, map[string]string{"a": "a"})
	r := newReader(gitrepo.Options{})
	read(t, r, s.source(), gitrepo.Known{})
	down := s.source()
	s.http.Close()
	_, err := r.Read(t.Context(), down, gitrepo.Known{Content: want})
	wantError(t, err, gitrepo.Unreachable, "refused")
}

func TestUnknownCertificate(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.http.Config.ErrorLog = nil
	src := s.source()
	src.Auth.CABundle = nil
	_, err := newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.Unreachable, "certificate")
	src.Auth.CABundle = []byte("not a certificate")
	_, err = newReader(gitrepo.Options{}).Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.InvalidAuth, "CA bundle")
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"error page": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("oops ", 100_000), http.StatusInternalServerError)
		},
		"not git":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"cut short": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "001e# service=git-upload-pack\n00000") },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(http.Handler) http.Handler { return answer })
			_, err := newReader(gitrepo.Options{}).Read(t.Context(), s.source(), gitrepo.Known{})
			if kind := gitrepo.KindOf(err); kind != gitrepo.Protocol && kind != gitrepo.LimitExceeded {
				t.Errorf("got %v of kind %q, want kind Protocol", err, kind)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("the message has %d characters", len(err.Error()))
			}
		})
	}
}

func TestEndlessReferences(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			line := strings.Repeat("a", 40) + " refs/heads/x\x00\n"
			for {
				if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
					return
				}
			}
		})
	})
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{AdvertisementBytes: 1 << 20}})
	_, err := r.Read(t.Context(), s.source(), gitrepo.Known{})
	wantError(t, err, gitrepo.LimitExceeded, "references", "1 MiB")
}

// TestEndlessLinesBeforeThePack: the lines before a pack have a limit of their own, because all of
// them are kept and a server could send them for ever.
func TestEndlessLinesBeforeThePack(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("1", 40)
	for _, line := range []string{"shallow " + hash, "unshallow " + hash, "ACK " + hash + "\n", "NAK\n"} {
		t.Run(line[:3], func(t *testing.T) {
			t.Parallel()
			again := bytes.Repeat(fmt.Appendf(nil, "%04x%s", len(line)+4, line), 1000)
			s := newServer(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						capabilities := "ofs-delta"
						if strings.Contains(line, "shallow") {
							capabilities += " shallow"
						}
						first := hash + " refs/heads/main\x00" + capabilities + "\n"
						fmt.Fprintf(w, "001e# service=git-upload-pack\n0000%04x%s0000", len(first)+4, first)
						return
					}
					for sent := 0; sent < 64<<20; sent += len(again) {
						if _, err := w.Write(again); err != nil {
							return
						}
					}
				})
			})
			_, err := newReader(gitrepo.Options{}).Read(t.Context(), s.source(), gitrepo.Known{})
			wantError(t, err, gitrepo.LimitExceeded, "before the pack", "1 MiB")
		})
	}
}

// TestHangInThePack: a pack that stops in the middle must end with the timeout, and what was read
// before must still be there.
func TestHangInThePack(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	var hanging atomic.Bool
	s := newServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || !hanging.Load() {
				next.ServeHTTP(w, r)
				return
			}
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, r)
			_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2])
			w.(http.Flusher).Flush()
			<-end
		})
	})
	defer close(end)
	first := s.write(t, map[string]string{"a": "a"})
	r := newReader(gitrepo.Options{})
	src := s.source()
	src.Timeout = time.Minute
	read(t, r, src, gitrepo.Known{})

	hanging.Store(true)
	s.write(t, map[string]string{"a": noise("a", 10<<10)})
	src.Timeout = 300 * time.Millisecond
	_, err := r.Read(t.Context(), src, gitrepo.Known{Content: first})
	wantError(t, err, gitrepo.Timeout)
	hanging.Store(false)
	src.Timeout = 0
	read(t, r, src, gitrepo.Known{})
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached http.Header
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = r.Header.Clone()
	}))
	t.Cleanup(elsewhere.Close)
	s := newServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/away/"):
				http.Redirect(w, r, elsewhere.URL+r.URL.String(), http.StatusMovedPermanently)
			case strings.HasPrefix(r.URL.Path, "/plain/"):
				http.Redirect(w, r, "http://"+r.Host+"/app.git/info/refs?service=git-upload-pack", http.StatusFound)
			case strings.HasPrefix(r.URL.Path, "/moved/"):
				http.Redirect(w, r, strings.Replace(r.URL.String(), "/moved/", "/", 1), http.StatusMovedPermanently)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	s.write(t, map[string]string{"a": "a"})
	from := func(path string) gitrepo.Source {
		src := s.source()
		src.URL = s.http.URL + path + s.Name()
		src.Auth.Username, src.Auth.Password = "ada", secret
		return src
	}
	read(t, newReader(gitrepo.Options{}), from("/moved/"), gitrepo.Known{})

	_, err := newReader(gitrepo.Options{}).Read(t.Context(), from("/away/"), gitrepo.Known{})
	wantError(t, err, gitrepo.Invalid, "redirects to another host", strings.TrimPrefix(elsewhere.URL, "https://"))
	if reached != nil {
		t.Errorf("the other host was asked, with headers %v", reached)
	}
	_, err = newReader(gitrepo.Options{}).Read(t.Context(), from("/plain/"), gitrepo.Known{})
	if err == nil {
		t.Error("a redirect from https to http was followed")
	}
}

func TestDeniedNetworks(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	r := gitrepo.NewReader(gitrepo.Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		src := s.source()
		src.URL = strings.Replace(src.URL, "127.0.0.1", host, 1)
		_, err := r.Read(t.Context(), src, gitrepo.Known{})
		wantError(t, err, gitrepo.Invalid, "not allowed", "--git-allowed-networks")
	}
	for _, host := range []string{"169.254.169.254", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]"} {
		metadata := gitrepo.Source{URL: "https://" + host + "/latest", Branch: "main"}
		_, err := newReader(gitrepo.Options{}).Read(t.Context(), metadata, gitrepo.Known{})
		wantError(t, err, gitrepo.Invalid, "not allowed")
	}
	if s.handler.Requests() > 0 {
		t.Error("the server was asked")
	}
}

func TestFileURL(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	first := s.write(t, map[string]string{"a": "1"})
	src := gitrepo.Source{URL: "file://" + s.Dir, Branch: "main"}
	r := newReader(gitrepo.Options{AllowFile: true})
	wantContent(t, read(t, r, src, gitrepo.Known{}), map[string]string{"a": "1"})
	s.write(t, map[string]string{"b": "2"})
	wantContent(t, read(t, r, src, gitrepo.Known{Ancestor: first}), map[string]string{"a": "1", "b": "2"})
	read(t, r, src, gitrepo.Known{})

	src.URL += "-not"
	_, err := r.Read(t.Context(), src, gitrepo.Known{})
	wantError(t, err, gitrepo.RepositoryNotFound)
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	plain := httptest.NewServer(s.handler)
	t.Cleanup(plain.Close)
	s.write(t, map[string]string{"a": "1"})
	src := gitrepo.Source{URL: plain.URL + "/" + s.Name(), Branch: "main"}
	read(t, newReader(gitrepo.Options{AllowHTTP: true}), src, gitrepo.Known{})
}
