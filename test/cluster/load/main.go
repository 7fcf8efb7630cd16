// Command load keeps sending requests to a URL from so many clients, 50 a second from each, and
// counts those that fail (see package clients):
//
//	load http://10.96.0.7 8
//
// At :8080/counts it tells what it has counted, as JSON:
//
//	{"sent": 1200, "failed": 0, "failures": [], "versions": {"v1": 700, "v2": 500}, "last": {...}}
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/test/cluster/clients"
)

const (
	address  = ":8080"
	interval = 20 * time.Millisecond
	// patience is how long the header of a request for the counts may take.
	patience = 10 * time.Second
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: load URL CLIENTS")
	}
	senders, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatalf("the number of clients: %v", err)
	}
	sent := clients.Start(context.Background(), clients.Options{URL: os.Args[1], Clients: senders, Interval: interval})
	http.HandleFunc("/counts", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(sent.Counts()); err != nil {
			log.Print(err)
		}
	})
	server := &http.Server{Addr: address, ReadHeaderTimeout: patience}
	log.Fatal(server.ListenAndServe())
}
