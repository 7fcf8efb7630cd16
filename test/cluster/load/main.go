// Command load keeps sending requests to a URL, and counts those that fail. Each is sent once: no
// second try hides a failure. At :8080/counts it tells what it has counted, as JSON:
//
//	{"sent": 1200, "failed": 0, "failures": [], "versions": {"v1": 700, "v2": 500}}
//
// Half of its clients keep their connection, the others make one for each request.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	address = ":8080"
	clients = 8
	// pause is how long a client waits between an answer and its next request.
	pause = 20 * time.Millisecond
	// patience is how long an answer may take.
	patience = 10 * time.Second
	// keptFailures is how many failures are reported.
	keptFailures = 20
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: load URL")
	}
	counted := &counts{Versions: map[string]int{}, Failures: []string{}}
	for i := range clients {
		go send(counted, os.Args[1], i%2 == 0)
	}
	http.HandleFunc("/counts", counted.serve)
	server := &http.Server{Addr: address, ReadHeaderTimeout: patience}
	log.Fatal(server.ListenAndServe())
}

// send sends one request after the other.
func send(counted *counts, url string, keep bool) {
	transport := &http.Transport{DisableKeepAlives: !keep}
	client := &http.Client{Transport: transport, Timeout: patience}
	for tick := time.NewTicker(pause); ; <-tick.C {
		version, err := ask(client, url)
		counted.count(version, err)
	}
}

// ask sends a POST, which net/http does not send a second time by itself.
func ask(client *http.Client, url string) (version string, err error) {
	response, err := client.Post(url, "text/plain", strings.NewReader("order")) //nolint:noctx,gosec // the client has a timeout, and the URL is that of its user
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return string(body), nil
}

// counts is what came of all requests.
type counts struct {
	mu       sync.Mutex
	Sent     int            `json:"sent"`
	Failed   int            `json:"failed"`
	Failures []string       `json:"failures"` // the first of them
	Versions map[string]int `json:"versions"` // of those that answered
}

func (c *counts) count(version string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Sent++
	if err == nil {
		c.Versions[version]++
		return
	}
	c.Failed++
	if len(c.Failures) < keptFailures {
		c.Failures = append(c.Failures, time.Now().UTC().Format(time.TimeOnly)+" "+err.Error())
	}
}

func (c *counts) serve(w http.ResponseWriter, _ *http.Request) {
	if err := json.NewEncoder(w).Encode(c.now()); err != nil {
		log.Print(err)
	}
}

func (c *counts) now() *counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &counts{
		Sent: c.Sent, Failed: c.Failed,
		Failures: append([]string{}, c.Failures...), Versions: maps.Clone(c.Versions),
	}
}
