package gitbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// LargeReport has what it costs to follow a folder of a large repository.
type LargeReport struct {
	// First look, and a change of one file: how long each takes, and the bytes that the server sends.
	First, Change         time.Duration
	FirstSent, ChangeSent int64
}

// MeasureLarge follows a folder of a hundred manifests in a repository that has so many other files
// of 12 KiB, which hardly compress. With filters the server sends files by their names; without,
// all of them.
func MeasureLarge(ctx context.Context, dir string, others int, filters bool) (LargeReport, error) {
	bench, err := newBench(dir, 100)
	if err != nil {
		return LargeReport{}, err
	}
	defer bench.server.Close()
	if _, err := bench.repo.Git(nil, "config", "uploadpack.allowFilter", fmt.Sprint(filters)); err != nil {
		return LargeReport{}, err
	}
	if _, err := bench.repo.Commit(gittest.Commit{Files: chartsOf(others)}); err != nil {
		return LargeReport{}, err
	}
	bench.source.Reads = func(file string) bool { return strings.HasPrefix(file, "team-000/") }
	var report LargeReport
	known := gitrepo.Known{}
	for round := range 2 {
		began, before := time.Now(), bench.handler.Sent()
		head, err := bench.git.Read(ctx, bench.source, known)
		if err != nil {
			return report, fmt.Errorf("read repository: %w", err)
		}
		head.Close()
		known = gitrepo.Known{Ancestor: head.Commit, Content: head.Commit}
		if round == 1 {
			report.Change, report.ChangeSent = time.Since(began), bench.handler.Sent()-before
			break
		}
		report.First, report.FirstSent = time.Since(began), bench.handler.Sent()-before
		change := map[string]string{"team-000/app-00000.yaml": deployment("app-00000", 2)}
		if _, err := bench.repo.Commit(gittest.Commit{Files: change}); err != nil {
			return report, err
		}
	}
	return report, nil
}

func chartsOf(n int) map[string]string {
	files, noise := map[string]string{}, rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same files each time
	for i := range n {
		text := make([]byte, 12<<10)
		for at := range text {
			text[at] = byte('!' + noise.IntN(90))
		}
		files[fmt.Sprintf("charts/%03d/%05d.yaml", i/100, i)] = string(text)
	}
	return files
}
