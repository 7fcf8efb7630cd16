package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A ledger holds the state of a service in its volume across versions: the versions that have run
// on the volume, and the number of requests that each has answered.
type ledger struct {
	mu   sync.Mutex
	file *os.File
	// Owner is the pod that the volume belongs to.
	Owner    string         `json:"owner"`
	Starts   []string       `json:"starts"`
	Answered map[string]int `json:"answered"`
}

// openLedger goes on with the ledger in a folder. That of another pod is refused.
func openLedger(dir, owner, version string) (*ledger, error) {
	file, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &ledger{file: file, Owner: owner, Answered: map[string]int{}}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		what, value, _ := strings.Cut(lines.Text(), " ")
		switch {
		case what == "start":
			l.Starts = append(l.Starts, value)
		case what == "answer":
			l.Answered[value]++
		case value != owner:
			return nil, fmt.Errorf("open ledger: the volume is that of %s, and this is %s", value, owner)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	l.Starts = append(l.Starts, version)
	return l, l.write("owner " + owner + "\nstart " + version)
}

func (l *ledger) write(lines string) error {
	if _, err := fmt.Fprintln(l.file, lines); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// answer notes an answer before it is given.
func (l *ledger) answer(version string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Answered[version]++
	return l.write("answer " + version)
}

func (l *ledger) serve(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(l); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
