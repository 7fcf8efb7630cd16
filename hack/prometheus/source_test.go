package prometheus

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMetricsAreExported: the source has each metric of Sluice that is in the list, and the list
// has each that is in the source.
func TestMetricsAreExported(t *testing.T) {
	t.Parallel()
	exported := exported(t)
	for name := range metrics {
		if strings.HasPrefix(name, "sluice_") && !exported[name] {
			t.Errorf("the source has no metric %s", name)
		}
	}
	for name := range exported {
		if _, listed := metrics[name]; !listed {
			t.Errorf("the list of metrics has no %s", name)
		}
	}
}

var named = regexp.MustCompile(`(?:Name:\s+|Gauge\(|Desc\(|istogram\()"(sluice_[a-z_]+)"`)

// exported returns the names of metrics in the source of the controller.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "hack"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("read the source: %v, %d metrics", err, len(found))
	}
	return found
}
