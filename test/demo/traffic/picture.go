package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/test/cluster/clients"
)

// width is how many characters stand for all requests.
const width = 50

// A moment is one sample of the picture.
type moment struct {
	// at is the time since the push.
	at time.Duration
	// counts are the results of all requests until then.
	counts clients.Counts
	// weight is the percentage that the route gives the new version, and shared whether it gives any to
	// anybody: outside of a release all requests go to the Service that the route has always named.
	weight int32
	shared bool
	// stands says that the release waits at a gate.
	stands bool
	// pods are how many there are of each version that are ready.
	pods map[string]int
}

// A picture is the share of the new version over time.
type picture struct {
	// before and after are the versions.
	before, after string
	last          moment
	steps         []stood
}

// stood holds the results of the requests during one step.
type stood struct {
	weight        int32
	sent, failed  int
	answers, news int
}

// heading returns what stands above the lines.
func (p *picture) heading() string {
	return fmt.Sprintf("   time  %-*s  measured  route says  pods %s %s  requests\n", width, "█ answered by "+p.after+", ░ by "+p.before, p.before, p.after)
}

// line draws what has happened since the moment before.
func (p *picture) line(now moment) string {
	since := now.counts.Since(p.last.counts)
	share := since.Share(p.after)
	if now.stands && p.last.stands && now.weight == p.last.weight {
		p.stand(now.weight, since)
	}
	says := "-"
	if now.shared {
		says = fmt.Sprintf("%d%%", now.weight)
	}
	p.last = now
	line := fmt.Sprintf("%6.1fs  %s  %7.2f%%  %10s  %*d %*d  %d", now.at.Seconds(), bar(share), share, says,
		len("pods "+p.before), now.pods[p.before], len(p.after), now.pods[p.after], since.Sent)
	if since.Failed > 0 {
		line += fmt.Sprintf(", %d FAILED", since.Failed)
	}
	return line + "\n"
}

// stand adds requests to those of a step.
func (p *picture) stand(weight int32, since clients.Counts) {
	index := slices.IndexFunc(p.steps, func(s stood) bool { return s.weight == weight })
	if index < 0 {
		p.steps = append(p.steps, stood{weight: weight})
		index = len(p.steps) - 1
	}
	step := &p.steps[index]
	step.sent += since.Sent
	step.failed += since.Failed
	for version, answers := range since.Versions {
		step.answers += answers
		if version == p.after {
			step.news += answers
		}
	}
}

// summary has a bar for each step, of the requests that were sent while it stood.
func (p *picture) summary() string {
	var text strings.Builder
	for _, step := range p.steps {
		share := 0.0
		if step.answers > 0 {
			share = 100 * float64(step.news) / float64(step.answers)
		}
		fmt.Fprintf(&text, "  %3d%%   %s  %7.2f%%  of %d requests, %d failed\n", step.weight, bar(share), share, step.sent, step.failed)
	}
	all := p.last.counts
	fmt.Fprintf(&text, "\n%d requests in all, %d failed.\n", all.Sent, all.Failed)
	return text.String()
}

// bar returns a percentage as a bar, with at least one mark unless it is zero.
func bar(percent float64) string {
	filled := int(percent*width/100 + 0.5)
	if percent > 0 {
		filled = max(filled, 1)
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}
