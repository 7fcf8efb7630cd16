package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestControllerThatEnds: it does not pass for one that was stopped, and tells why it ended.
func TestControllerThatEnds(t *testing.T) {
	t.Parallel()
	c := &controller{log: filepath.Join(t.TempDir(), "controller.log"), ended: make(chan struct{})}
	if err := c.start("sh", []string{"-c", "echo no such cluster >&2; exit 3"}); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	if !c.ready(t.Context()) {
		t.Error("nobody must wait for a controller that has ended")
	}
	err := c.stop()
	if err == nil {
		t.Fatal("want an error of a controller that ended by itself, got none")
	}
	for _, want := range []string{"exit status 3", "unasked", "no such cluster"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q to be told, got %v", want, err)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ content, want string }{
		"empty": {"", ""},
		"few":   {"a\nb\n", "a\nb"},
		"ten":   {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"},
		"more":  {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12", "3\n4\n5\n6\n7\n8\n9\n10\n11\n12"},
	} {
		c := &controller{log: filepath.Join(dir, name)}
		if err := os.WriteFile(c.log, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := string(c.lastLines()); got != tc.want {
			t.Errorf("%s: want %q, got %q", name, tc.want, got)
		}
	}
	if got := string((&controller{log: filepath.Join(dir, "none")}).lastLines()); !strings.Contains(got, "no such file") {
		t.Errorf("want to hear that there is no log, got %q", got)
	}
}

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	address, err := freeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("want a port of loopback alone, got %s (%v)", address, err)
	}
}

func TestBuildProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, line := range []string{"fetching etcd\n", "starting etcd\n", "start\n", ""} {
		n, err := fmt.Fprint(buildProgress{&out}, line)
		if err != nil || n != len(line) {
			t.Errorf("%q: want all of it to be taken, got %d (%v)", line, n, err)
		}
	}
	if want := "fetching etcd\nstart\n"; out.String() != want {
		t.Errorf("starts are not worth telling, all else is: want %q, got %q", want, out.String())
	}
}

// TestWaitsEndWithTheReason: who interrupts a bench, or whatever ended its control plane, is named.
func TestWaitsEndWithTheReason(t *testing.T) {
	t.Parallel()
	down := errors.New("the control plane went down")
	ctx, end := context.WithCancelCause(t.Context())
	end(down)
	if err := pass(ctx, time.Hour); !errors.Is(err, down) {
		t.Errorf("letting time go by: want %v, got %v", down, err)
	}
	if err := poll(ctx, func(context.Context) bool { return false }); !errors.Is(err, down) {
		t.Errorf("waiting for something: want %v, got %v", down, err)
	}
	if _, err := newLog().await(ctx, 1, nil); !errors.Is(err, down) {
		t.Errorf("waiting for objects: want %v, got %v", down, err)
	}
	if err := poll(t.Context(), func(context.Context) bool { return true }); err != nil {
		t.Errorf("what holds needs no waiting: got %v", err)
	}
}
