package access

import (
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestWhoseConnection: an address that another user of the machine has read, among the arguments of
// the browser's process, lets only its owner in: Linux says whose a connection is.
func TestWhoseConnection(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1002        0 4 1 0 20 4 30 10 -1
   4: 00000000000000000000000001000000:D433 00000000000000000000000001000000:1F90 01 0:0 0:0 0  1003        0 5 1 0 20 4 30 10 -1
   5: nonsense:D434 0100007F:1F90 01
   6: 0100007F:D435 0100007F:1F90 01 0:0 0:0 0  x        0 5 1 0 20 4 30 10 -1
`
	for from, want := range map[string]int{
		"127.0.0.1:54321": 1001, "127.0.0.1:54322": 1002, "[::1]:54323": 1003, "127.0.0.1:54324": -1, "127.0.0.1:54325": -1, "127.0.0.2:54321": -1,
	} {
		to := "127.0.0.1:8080"
		if strings.HasPrefix(from, "[") {
			to = "[::1]:8080"
		}
		uid, found := ownerOf(strings.NewReader(table), netip.MustParseAddrPort(from), netip.MustParseAddrPort(to))
		if found != (want >= 0) || found && uid != want {
			t.Errorf("%s is of %d, %v, want %d", from, uid, found, want)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	h := newHome(t)
	owner := -1
	server := Server(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		table, err := os.Open("/proc/net/tcp")
		if err != nil {
			t.Error(err)
			return
		}
		defer table.Close()
		owner, _ = ownerOf(table, netip.MustParseAddrPort(r.RemoteAddr), netip.MustParseAddrPort(h.address))
		if ofStranger(r, os.Getuid()) {
			t.Error("the owner is a stranger")
		}
	}))
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listener.Addr().String()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	h.send(h.browser(), http.MethodGet, "http://"+h.address, nil)
	if owner != os.Getuid() {
		t.Errorf("our own connection is of %d", owner)
	}
}
