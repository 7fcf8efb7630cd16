package wire

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// TestSharedIsKeptWhileItIsUsed: an unused client is dropped, so that secrets that come and go
// fill no memory, and a used one stays.
func TestSharedIsKeptWhileItIsUsed(t *testing.T) {
	t.Parallel()
	s := NewShared[string, [64]byte]()
	value := func() (*[64]byte, error) { return new([64]byte), nil }
	used, err := s.Get("used", value)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := s.Get(key, value); err != nil {
			t.Fatal(err)
		}
	}
	known := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.all)
	}
	for deadline := time.Now().Add(time.Minute); known() != 1; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d are kept, want the one that is used", known())
		}
		runtime.GC()
	}
	if again, _ := s.Get("used", value); again != used {
		t.Error("what is used was made anew")
	}
	runtime.KeepAlive(used)
}

// TestWhatTakesLongToMakeHoldsUpNobody: while somebody's client is made, which takes as long as
// their private key is large, others get theirs.
func TestWhatTakesLongToMakeHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := NewShared[string, [64]byte]()
	var other *[64]byte
	slow, err := s.Get("slow", func() (*[64]byte, error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			other, _ = s.Get("other", func() (*[64]byte, error) { return new([64]byte), nil })
		}()
		select {
		case <-done:
			return new([64]byte), nil
		case <-time.After(time.Minute):
			return nil, errors.New("the other one waits")
		}
	})
	if err != nil || slow == nil || other == nil {
		t.Fatalf("made %v and %v, with error %v", slow != nil, other != nil, err)
	}
}

// TestWhatIsMadeTwiceAtOnceIsOne: who makes the same at the same time gets the same.
func TestWhatIsMadeTwiceAtOnceIsOne(t *testing.T) {
	t.Parallel()
	s := NewShared[string, [64]byte]()
	var inner *[64]byte
	outer, err := s.Get("same", func() (*[64]byte, error) {
		var err error
		inner, err = s.Get("same", func() (*[64]byte, error) { return new([64]byte), nil })
		return new([64]byte), err
	})
	if err != nil || outer != inner {
		t.Fatalf("the same twice: %t, error %v", outer == inner, err)
	}
	runtime.KeepAlive(inner)
}
