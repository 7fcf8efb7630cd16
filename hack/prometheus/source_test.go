package prometheus

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// awaited are metrics that the source is still to export.
var awaited = words(`
	sluice_releases sluice_release_state sluice_release_state_since_timestamp_seconds sluice_release_stopped sluice_release_stalled
	sluice_batch_duration_seconds sluice_gate_wait_seconds sluice_release_duration_seconds sluice_release_ends_total sluice_rollbacks_total
	sluice_commit_to_batch_seconds sluice_lead_time_seconds sluice_time_to_restore_seconds
	sluice_source_sync_duration_seconds sluice_source_syncs_total sluice_source_errors sluice_writes_total
	sluice_forge_queue_depth sluice_invariant_violations_total
`)

// TestMetricsAreExported: the source has each metric of Sluice that is in the list, and the list has each that is in the source.
func TestMetricsAreExported(t *testing.T) {
	t.Parallel()
	exported := exported(t)
	for name := range metrics {
		if strings.HasPrefix(name, "sluice_") && !exported[name] && !slices.Contains(awaited, name) {
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

// exported are the names of metrics in the source of the controller.
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
