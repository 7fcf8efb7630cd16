package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestAddressReadByAnotherUser: a process of another user that has read the address gets nothing by
// it, and its owner still does. Only root can play another user.
func TestAddressReadByAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to be another user for a moment")
	}
	h := newHome(t)
	h.local.uid = 1000 // root may do everything
	address := h.local.PlainURL(h.address)
	if got := visitAs(t, 65534, address); got != http.StatusForbidden {
		t.Errorf("another user: got %d", got)
	}
	if got := visitAs(t, 1000, address); got != http.StatusOK {
		t.Errorf("the owner after that: got %d", got)
	}
}

// visitAs opens an address on a connection of a user.
func visitAs(t *testing.T, uid uintptr, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
		defer close(status)
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", u.RequestURI(), u.Host)); err != nil {
			t.Error(err)
			return
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
		status <- answer.StatusCode
	}()
	return <-status
}
