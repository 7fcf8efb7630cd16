package gitrepo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
)

// TestHangingServersHoldUpNobodyElse: sources of one tenant with the longest timeout there is,
// whose server never ends its pack, do not keep another's from being read.
func TestHangingServersHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	evil := newServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that its client has gone
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	evil.write(t, map[string]string{"a": "a"})
	good := newServer(t, nil)
	good.write(t, map[string]string{"a": "a"})
	r := newReader(gitrepo.Options{Polls: 16, Fetches: 4})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	waits := make(chan string, 100)
	for i := range 20 {
		src := evil.source()
		src.Auth.Username = fmt.Sprint("source", i)
		src.Timeout = time.Hour
		src.Caller = gitrepo.Caller{Tenant: "evil", Waits: func(what string) { waits <- what }}
		all.Go(func() { _, _ = r.Read(ctx, src, gitrepo.Known{}) })
	}
	if what := <-waits; what != "a connection to a Git server" {
		t.Errorf("one that waits is told that it waits for %q", what)
	}
	src := good.source()
	src.Caller.Tenant = "good"
	src.Timeout = 30 * time.Second
	wantContent(t, read(t, r, src, gitrepo.Known{}), map[string]string{"a": "a"})
	cancel()
	all.Wait()
}

// TestMemoryOfAllSources: the kept objects of many sources are bounded, and each source can still
// be read.
func TestMemoryOfAllSources(t *testing.T) {
	s := newServer(t, nil)
	files := map[string]string{}
	for i := range 7 {
		files[fmt.Sprintf("f%d.txt", i)] = fmt.Sprint(i) + strings.Repeat("x", 1<<20-8)
	}
	s.write(t, files)
	r := newReader(gitrepo.Options{MemoryBytes: 64 << 20, Limits: gitrepo.Limits{KeptBytes: 32 << 20}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 16 { // 112 MiB
		src := s.source()
		src.Auth.Username = fmt.Sprint("tenant", i)
		read(t, r, src, gitrepo.Known{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 32<<20 {
		t.Errorf("%d MiB are kept of 16 sources, with 16 for that", kept>>20)
	}
	runtime.KeepAlive(r)
}
