package gitsync_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline" //nolint:depguard // a hostile server speaks the protocol by hand
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

const tipOfTheirs = "1111111111111111111111111111111111111111"

// lines writes lines as Git sends them.
func lines(w io.Writer, all ...string) {
	e := pktline.NewEncoder(w)
	for _, line := range all {
		if line == "" {
			_ = e.Flush()
			continue
		}
		_ = e.EncodeString(line)
	}
}

// advertising answers looks as a server does, and fetches with what is given.
func advertising(pack http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			lines(w, "NAK\n")
			pack(w, r)
			return
		}
		lines(w, "# service=git-upload-pack\n", "", tipOfTheirs+" refs/heads/main\x00ofs-delta\n", "")
	}
}

func hang(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// endlessly sends the same again and again.
func endlessly(begin, again []byte, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for part := begin; r.Context().Err() == nil; part = again {
			if _, err := w.Write(part); err != nil {
				return
			}
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}
	}
}

// bomb returns the beginning of a pack of 400,000 files, and one of them: a MiB of zeros.
func bomb() (begin, file []byte) {
	begin = binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), 400_000)
	const size = 1 << 20
	var b bytes.Buffer
	b.Write([]byte{0x80 | 3<<4 | size&15, 0x80 | size>>4&127, 0x80 | size>>11&127, size >> 18})
	z := zlib.NewWriter(&b)
	_, _ = z.Write(make([]byte, size))
	_ = z.Close()
	return begin, b.Bytes()
}

// mute takes connections and says nothing.
func mute(t *testing.T) string {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range held {
			conn.Close()
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, conn)
			mu.Unlock()
		}
	}()
	return "https://" + listener.Addr().String() + "/app.git"
}

// hostileServers returns the addresses of servers that do each what they can to harm us.
func hostileServers(t *testing.T) map[string]string {
	begin, file := bomb()
	var refs bytes.Buffer
	lines(&refs, "# service=git-upload-pack\n", "", tipOfTheirs+" HEAD\x00ofs-delta\n")
	var ref bytes.Buffer
	for i := range 1000 {
		lines(&ref, fmt.Sprintf("%s refs/heads/%d%s\n", tipOfTheirs, i, strings.Repeat("x", 200)))
	}
	servers := map[string]http.HandlerFunc{
		"hangs":         hang,
		"hangs-in-pack": advertising(hang),
		"drips":         advertising(endlessly([]byte("P"), []byte("A"), time.Second)),
		"drips-refs":    endlessly([]byte("0"), []byte("0"), time.Second),
		"bomb":          advertising(endlessly(append(begin, file...), file, 0)),
		"endless-refs":  endlessly(refs.Bytes(), ref.Bytes(), 0),
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"?"+r.URL.RawQuery, http.StatusFound)
		},
		"redirects-away": http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound).ServeHTTP,
	}
	all := map[string]string{"mute": mute(t)}
	for name, handler := range servers {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		all[name] = server.URL + "/app.git"
	}
	return all
}

// peak watches how much memory the heap takes, until the test ends.
func peak(t *testing.T) (most func() uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var mu sync.Mutex
	var highest uint64
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			mu.Lock()
			highest = max(highest, now.HeapInuse+now.StackInuse)
			mu.Unlock()
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return highest
	}
}

// TestHostileServers: the sources of hostile servers say what is wrong. 50 others are read in time
// beside them, with more sources of each, and with longer timeouts, than the controller lets one
// namespace have a part for. The controller stays below half of the memory that it is installed
// with.
func TestHostileServers(t *testing.T) {
	if raced {
		t.Skip("it measures time and memory: make test-measured runs it")
	}
	w := newWorld(t)
	w.push(app("web", "web:1"))
	kinds := hostileServers(t)
	const each, good = 20, 50
	namespaces := map[string]string{}
	var watched []string
	namespace := func(of string) string {
		namespaces[of] = cptest.Namespace(t)
		watched = append(watched, namespaces[of])
		return namespaces[of]
	}
	source := func(namespace, name, url string, timeout time.Duration) *v1alpha1.ReleaseSource {
		return &v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: v1alpha1.ReleaseSourceSpec{
				URL: url, Ref: v1alpha1.GitReference{Branch: gittest.Branch}, SecretRef: &v1alpha1.LocalReference{Name: name},
				Interval: metav1.Duration{Duration: time.Second}, Timeout: metav1.Duration{Duration: timeout},
			},
		}
	}
	// Credentials of its own make each a source of its own.
	credentials := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"username": namespace + name, "password": "x"},
		}
	}
	for kind, url := range kinds {
		at := namespace(kind)
		w.create(credentials(at, "s0"), source(at, "s0", url, 10*time.Second))
	}
	for i := range good {
		at := namespace(fmt.Sprint("good", i))
		w.create(credentials(at, "shop"))
	}
	most := peak(t)
	w.controller(gitsync.Options{}, watched...)
	for kind := range kinds { // before there are others of its server, whose turns may come first and take two minutes each
		w.awaitReady(namespaces[kind], "s0", metav1.ConditionFalse)
	}
	for kind, url := range kinds {
		for i := 1; i < each; i++ {
			name, at := fmt.Sprintf("s%d", i), namespaces[kind]
			w.create(credentials(at, name), source(at, name, url, time.Hour))
		}
	}
	w.awaitHostile(namespaces, kinds)
	began := time.Now()
	for i := range good {
		w.create(source(namespaces[fmt.Sprint("good", i)], "shop", w.url(), 20*time.Second))
	}
	for i := range good {
		w.awaitReady(namespaces[fmt.Sprint("good", i)], "shop", metav1.ConditionTrue)
	}
	t.Logf("%d good sources were synced %s after they were made; %d MiB at most", good, time.Since(began).Round(time.Millisecond), most()>>20)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the good sources took %s", took)
	}
	if half := uint64(512 << 20); most() > half {
		t.Errorf("the controller took %d MiB, more than half of its limit", most()>>20)
	}
}

// awaitHostile waits until sources of each kind were looked at, so that what is to be had of them
// is had.
func (w *world) awaitHostile(namespaces, kinds map[string]string) {
	w.Helper()
	for kind := range kinds {
		cptest.Eventually(w.T, soon, func() error {
			var list v1alpha1.ReleaseSourceList
			if err := w.List(w.Context(), &list, client.InNamespace(namespaces[kind])); err != nil {
				return fmt.Errorf("list sources: %w", err)
			}
			begun := 0
			for i := range list.Items {
				if len(list.Items[i].Finalizers) > 0 {
					begun++
				}
			}
			if begun < len(list.Items) {
				return fmt.Errorf("%s: %d of %d sources are begun", kind, begun, len(list.Items))
			}
			return nil
		})
	}
}

func (w *world) awaitReady(namespace, name string, want metav1.ConditionStatus) {
	w.Helper()
	cptest.Eventually(w.T, soon, func() error {
		var source v1alpha1.ReleaseSource
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &source); err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != want || ready.Message == "" {
			return fmt.Errorf("%s/%s: want Ready %s, got %+v", namespace, source.Spec.URL, want, ready)
		}
		return nil
	})
}
