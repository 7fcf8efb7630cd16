package github

import (
	"runtime"
	"testing"
	"time"
)

// What nobody uses is gone, so that secrets that come and go fill no memory; what somebody uses stays.
func TestSharedIsKeptWhileItIsUsed(t *testing.T) {
	t.Parallel()
	s := newShared[string, [64]byte]()
	value := func() (*[64]byte, error) { return new([64]byte), nil }
	used, err := s.get("used", value)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := s.get(key, value); err != nil {
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
	if again, _ := s.get("used", value); again != used {
		t.Error("what is used was made anew")
	}
	runtime.KeepAlive(used)
}
