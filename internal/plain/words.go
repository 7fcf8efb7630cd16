package plain

import "fmt"

// commitLength is how much of a commit people read, and what Git itself shows where it is enough.
const commitLength = 7

// Commit returns a commit as people read it, printable whatever somebody has written in its place.
// Where it has to be told from others, it is shown whole.
func Commit(hash string) string { return Line(hash[:min(len(hash), commitLength)]) }

// Count returns a number of things: "1 pod", "3 pods".
func Count[N ~int | ~int32 | ~int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
