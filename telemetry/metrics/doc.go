// Package metrics counts and measures releases for Prometheus.
//
//	story.Facts ──► Metrics.Tell ──► counters, histograms
//	cache ◄── at each scrape ── Metrics.Collect ──► gauges of the releases that there are
//
// What must hold:
//
//   - only the process that holds the Lease counts facts, and shows releases: sums over all
//     replicas count nothing twice;
//   - labels have values that the API server has checked, such as names and enumerations, or that
//     are listed here: no commit, branch, person or message adds a series;
//   - a release takes no memory, except while its workload runs a bad version.
package metrics
