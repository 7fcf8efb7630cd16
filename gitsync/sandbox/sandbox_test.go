package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main(serve)
	os.Exit(m.Run())
}

// request is the task of a process of these tests.
type request struct {
	Do string
	// URL and Folder are the targets that it tries to reach.
	URL, Folder string
}

func serve(input []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(input, &r); err != nil {
		return nil, err
	}
	switch r.Do {
	case "echo":
		return input, nil
	case "fail":
		return nil, errors.New("as asked")
	case "panic":
		panic("as asked")
	case "spin", "spin for long":
		for i := 0; ; i++ {
			if i < 0 {
				return nil, nil
			}
		}
	case "hang":
		select {}
	case "wait":
		<-time.After(1500 * time.Millisecond)
		return input, nil
	case "allocate":
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20)) //nolint:staticcheck // to be kept is all that it is for
		}
	case "allocate at once":
		return nil, fmt.Errorf("%d", len(bytes.Repeat([]byte{1}, 1<<30)))
	case "recurse":
		return nil, fmt.Errorf("%d", recurse(0))
	case "large":
		return bytes.Repeat([]byte{'x'}, 1<<20), nil
	}
	return json.Marshal(attack(r))
}

func recurse(n int) int { return recurse(n+1) + 1 } //nolint:staticcheck // until the process ends

// attack tries what a process may not do, and returns the results by name.
func attack(r request) map[string]string {
	results := map[string]string{"environment": strings.Join(os.Environ(), " ")}
	try := func(name string, err error) { results[name] = fmt.Sprint(err) }
	answer, err := http.Get(r.URL)
	if err == nil {
		err = answer.Body.Close()
	}
	try("http", err)
	_, err = net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	try("dial", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("listen", err)
	_, err = os.ReadFile("/etc/passwd")
	try("read", err)
	try("write", os.WriteFile(filepath.Join(r.Folder, "written"), []byte("x"), 0o600))
	try("folder", os.Mkdir(filepath.Join(r.Folder, "made"), 0o700))
	try("remove", os.Remove(filepath.Join(r.Folder, "kept")))
	_, _, err = os.Pipe()
	try("pipe", err)
	try("run", exec.Command(filepath.Join(r.Folder, "decoy")).Run())
	try("become", syscall.Exec(filepath.Join(r.Folder, "decoy"), []string{"decoy"}, nil))
	try("parent", syscall.Kill(os.Getppid(), 0))
	for name, err := range beyond() {
		try(name, err)
	}
	return results
}

func ask(t *testing.T, limits Limits, r request) ([]byte, error) {
	t.Helper()
	input, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return NewPool(Options{Processes: 1, Limits: limits}).For(t.Context(), Owner{"shop", "web"}).Build(input)
}

func TestResults(t *testing.T) {
	t.Parallel()
	output, err := ask(t, Limits{}, request{Do: "echo", URL: "x"})
	if err != nil || !strings.Contains(string(output), `"echo"`) {
		t.Errorf("got %q, %v", output, err)
	}
	if _, err := ask(t, Limits{}, request{Do: "fail"}); err == nil || err.Error() != "as asked" {
		t.Errorf("its own error is %v", err)
	}
	if _, err := ask(t, Limits{}, request{Do: "panic"}); err == nil || !strings.Contains(err.Error(), "as asked") {
		t.Errorf("the error of a panic is %v", err)
	}
}

// TestNothingCanBeDone: every attempt in the process fails, and leaves no trace outside.
func TestNothingCanBeDone(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer server.Close()
	folder := t.TempDir()
	mark := filepath.Join(folder, "mark")
	for name, text := range map[string]string{"decoy": "#!/bin/sh\ntouch " + mark + "\n", "kept": "x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	output, err := ask(t, Limits{}, request{Do: "attack", URL: server.URL, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]string
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatal(err)
	}
	for name, result := range results {
		t.Logf("%s: %s", name, result)
		if failed := result != "<nil>"; !failed || name == "environment" && result != "" {
			t.Errorf("%s was possible: %s", name, result)
		}
	}
	if len(results) < 12 || visits.Load() > 0 {
		t.Errorf("%d attempts, %d requests", len(results), visits.Load())
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		limits Limits
		want   error
	}{
		"spin":             {Limits{Time: time.Second}, ErrTime},
		"spin for long":    {Limits{Time: 300 * time.Millisecond}, ErrTime},
		"hang":             {Limits{Wall: time.Second}, ErrTime},
		"allocate":         {Limits{Memory: 64 << 20, Time: time.Minute}, ErrMemory},
		"allocate at once": {Limits{Memory: 64 << 20, Time: time.Minute}, ErrMemory},
		"recurse":          {Limits{Memory: 64 << 20, Time: time.Minute}, ErrMemory},
		"large":            {Limits{Bytes: 1 << 10}, ErrSize},
	}
	for do, tt := range cases {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if _, err := ask(t, tt.limits, request{Do: do}); !errors.Is(err, tt.want) {
				t.Errorf("it ended with %v, not with %v", err, tt.want)
			}
			t.Logf("after %s", time.Since(began))
		})
	}
}

// TestTotal: all that one source has built of a commit has a limit of its own, of processor time.
func TestTotal(t *testing.T) {
	t.Parallel()
	turn := NewPool(Options{Processes: 1, Limits: Limits{Time: 500 * time.Millisecond, Total: time.Second}}).For(t.Context(), Owner{"shop", "web"})
	var exceeded *ExceededError
	for range 2 {
		if _, err := turn.Build([]byte(`{"Do":"spin"}`)); !errors.As(err, &exceeded) || !errors.Is(err, ErrTime) || exceeded.NotBegun() ||
			!strings.Contains(err.Error(), "500ms of processor time") {
			t.Errorf("it ended with %v", err)
		}
	}
	if _, err := turn.Build([]byte(`{"Do":"echo"}`)); !errors.As(err, &exceeded) || !errors.Is(err, ErrTime) || !exceeded.NotBegun() ||
		!strings.Contains(err.Error(), "all that was built before") {
		t.Errorf("then with %v", err)
	}
}

// TestWaitingTakesNothing: a process that has to wait, as on a busy machine, takes as much as any
// other.
func TestWaitingTakesNothing(t *testing.T) {
	t.Parallel()
	turn := NewPool(Options{Processes: 1, Limits: Limits{Time: time.Second, Total: time.Second}}).For(t.Context(), Owner{"shop", "web"})
	began := time.Now()
	if _, err := turn.Build([]byte(`{"Do":"wait"}`)); err != nil || time.Since(began) < 1500*time.Millisecond {
		t.Errorf("after %s it ended with %v", time.Since(began), err)
	}
	if _, err := turn.Build([]byte(`{"Do":"echo"}`)); err != nil {
		t.Errorf("the next ended with %v", err)
	}
}

func TestEndOfTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	pool := NewPool(Options{Processes: 1})
	ended := make(chan error)
	for range 2 { // one runs, one waits
		go func() {
			_, err := pool.For(ctx, Owner{}).Build([]byte(`{"Do":"hang"}`))
			ended <- err
		}()
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
	if output, err := pool.For(t.Context(), Owner{}).Build([]byte(`{"Do":"echo"}`)); err != nil {
		t.Errorf("then %q, %v", output, err)
	}
}

// TestWithoutMain: a program that does not divert its processes would run itself without an end.
func TestWithoutMain(t *testing.T) {
	ready.Store(false)
	defer ready.Store(true)
	if _, err := ask(t, Limits{}, request{Do: "echo"}); err == nil || !strings.Contains(err.Error(), "must call sandbox.Main") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	pool := NewPool(Options{Processes: 1})
	for b.Loop() {
		if _, err := pool.For(b.Context(), Owner{}).Build([]byte(`{"Do":"echo"}`)); err != nil {
			b.Fatal(err)
		}
	}
}
