package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/internal/lru"
)

// Convert turns a list of the forge into values.
func Convert[From, To any](from []From, one func(*From) To) []To {
	to := make([]To, 0, len(from))
	for i := range from {
		to = append(to, one(&from[i]))
	}
	return to
}

// SameText compares what was sent with what the forge made of it: it may change the ends of lines.
func SameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// Facts are facts that don't change: merged pull requests and commits.
type Facts = lru.Cache[string, any]

// Remembered returns what was read before of something that does not change, if it was good to be
// kept.
func Remembered[T any](facts *Facts, key string, good func(T) bool, read func() (T, error)) (T, error) {
	if known := facts.Get(key); known != nil {
		return known.(T), nil
	}
	fact, err := read()
	if err != nil || !good(fact) {
		return fact, err
	}
	encoded, err := json.Marshal(fact)
	if err != nil {
		return fact, fmt.Errorf("measure %s: %w", key, err)
	}
	facts.Put(key, fact, int64(len(key)+len(encoded)))
	return fact, nil
}

// Always keeps any fact.
func Always[T any](T) bool { return true }
