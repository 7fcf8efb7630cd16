package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// of collects one figure of all samples.
func of[S, T any](samples []S, figure func(S) T) []T {
	all := make([]T, len(samples))
	for i := range samples {
		all[i] = figure(samples[i])
	}
	return all
}

// median returns the value in the middle; of an even number the larger of the two, which is the
// worse.
func median[T cmp.Ordered](values []T) T { return percentile(values, 50) }

// percentile returns the smallest value that p percent of the values don't exceed (nearest rank),
// half-way cases rounded to the larger. There must be a value.
func percentile[T cmp.Ordered](values []T, p float64) T {
	ordered := slices.Sorted(slices.Values(values))
	rank := int(math.Floor(p / 100 * float64(len(ordered))))
	return ordered[min(rank, len(ordered)-1)]
}

// middle returns the sample with the median of a figure.
func middle[S any, T cmp.Ordered](samples []S, figure func(S) T) S {
	m := median(of(samples, figure))
	return samples[slices.IndexFunc(samples, func(s S) bool { return figure(s) == m })]
}

func seconds(d time.Duration) string {
	if rounded := d.Round(time.Millisecond); rounded < time.Second {
		return fmt.Sprintf("%d ms", rounded.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// cpuSeconds keeps a digit more: a controller uses little.
func cpuSeconds(d time.Duration) string {
	if d == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func mebibytes(bytes int64) string {
	if bytes == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d MiB", (bytes+1<<19)>>20)
}

// verbs lists counts, for example "get 2, patch 7".
func verbs(counts map[string]int) string {
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, counts[verb]))
	}
	return strings.Join(parts, ", ")
}
