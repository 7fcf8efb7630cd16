// Command failures says in few lines why tests failed. It reads what gotestsum --jsonfile, or go test -json, has
// written, and leaves out all else that the tests have said: the end of a long CI run is where people look first,
// and often all that they are shown.
//
//	failures FILE...
package main

import (
	"fmt"
	"os"
)

func main() {
	var all []*test
	for _, name := range os.Args[1:] {
		found, err := readFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "failures:", err)
			os.Exit(1)
		}
		all = append(all, failed(found)...)
	}
	for _, line := range report(all) {
		fmt.Println(line)
	}
}

func readFile(name string) ([]*test, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	defer f.Close()
	tests, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return tests, nil
}
