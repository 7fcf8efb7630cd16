package gitbench

import (
	"fmt"
	"testing"
)

// TestMeasure: a small run of the bench sends the same requests as a large one.
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

// BenchmarkTenThousandManifests runs bench B6.
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

// TestMeasureLarge: the cost of a change does not depend on files that are not read.
func TestMeasureLarge(t *testing.T) {
	t.Parallel()
	report, err := MeasureLarge(t.Context(), t.TempDir(), 2_000, true)
	if err != nil {
		t.Fatal(err)
	}
	if report.ChangeSent > 64<<10 {
		t.Errorf("a change of one small file sent %d bytes", report.ChangeSent)
	}
}

// BenchmarkSmallPathOfALargeRepository runs bench B6, with and without filters of the server.
func BenchmarkSmallPathOfALargeRepository(b *testing.B) {
	for _, filters := range []bool{false, true} {
		b.Run(fmt.Sprintf("filters=%t", filters), func(b *testing.B) {
			for b.Loop() {
				report, err := MeasureLarge(b.Context(), b.TempDir(), 5_000, filters)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(report.First.Milliseconds()), "first-ms")
				b.ReportMetric(float64(report.FirstSent>>10), "first-KiB")
				b.ReportMetric(float64(report.Change.Milliseconds()), "change-ms")
				b.ReportMetric(float64(report.ChangeSent>>10), "change-KiB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
