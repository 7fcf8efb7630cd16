package gitbench

import "testing"

// A small run of what the bench does: the requests must be those of a large one.
func TestMeasure(t *testing.T) {
	t.Parallel()
	report, err := Measure(t.Context(), t.TempDir(), 200)
	if err != nil {
		t.Fatal(err)
	}
	if report.IdleRequests != 1 || report.ChangeRequests != 2 || report.Releases != 19 {
		t.Errorf("got %+v, want 1 request for a look with nothing new, 2 for a change, and 19 releases", report)
	}
}

// BenchmarkTenThousandManifests is bench B6.
func BenchmarkTenThousandManifests(b *testing.B) {
	for b.Loop() {
		report, err := Measure(b.Context(), b.TempDir(), 10_000)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(report.IdleRequests), "idle-requests")
		b.ReportMetric(float64(report.IdleLook.Milliseconds()), "idle-ms")
		b.ReportMetric(float64(report.FirstRead.Milliseconds()), "first-ms")
		b.ReportMetric(float64(report.Change.Milliseconds()), "change-ms")
		b.ReportMetric(float64(report.ChangeFetch.Milliseconds()), "change-fetch-ms")
		b.ReportMetric(float64(report.GitFetch.Milliseconds()), "git-fetch-ms")
		b.ReportMetric(float64(report.PeakMemory>>20), "peak-MiB")
		b.ReportMetric(0, "ns/op")
	}
}
