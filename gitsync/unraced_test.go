//go:build !race

package gitsync_test

// raced says that the tests run under the race detector, which makes time and memory several times
// what they are.
const raced = false
