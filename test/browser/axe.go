package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"

	"github.com/sluice-dev/sluice/internal/testbed/npm"
)

// axePackage is axe-core, which finds what keeps people out of a page.
var axePackage = npm.Package{
	Name: "axe-core", Version: "4.14.1",
	Integrity: "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
	File:      "package/axe.min.js", Folder: "axe-core", Kept: "axe-4.14.1.min.js",
}

var axe = sync.OnceValues(func() ([]byte, error) { return axePackage.Read(context.Background()) })

// axeOptions are the rules of WCAG 2.2 AA, with those before it, and what is good practice. What is
// loaded from elsewhere is not looked at: there is nothing.
const axeOptions = `{runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}, ` +
	`resultTypes: ["violations"], preload: false}`

// axeFinding is axe-core's report of one violated rule.
type axeFinding struct {
	ID, Impact, Help string
	Nodes            []struct {
		Target         []any
		HTML           string
		FailureSummary string
	}
}

// Barriers returns what keeps people out of the page, by axe-core: each with where it is. The
// page's own policy does not hold for what a test evaluates.
func (b *Tab) Barriers() []string {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		b.t.Fatalf("get axe-core: %v", err)
	}
	if !Ask[bool](b, `"axe" in window`) {
		if err := chromedp.Do(b.ctx, chromedp.Evaluate[chromedp.Void](string(source))); err != nil {
			b.t.Fatalf("load axe-core: %v", err)
		}
	}
	var findings []axeFinding
	text := Ask[string](b, `axe.run(document, `+axeOptions+`).then((r) => JSON.stringify(r.violations))`)
	if err := json.Unmarshal([]byte(text), &findings); err != nil {
		b.t.Fatalf("read what axe-core found: %v", err)
	}
	var barriers []string
	for _, finding := range findings {
		for _, node := range finding.Nodes {
			why := strings.Join(strings.Fields(node.FailureSummary), " ")
			barriers = append(barriers, fmt.Sprintf("%s (%s): %s: %v %.300s: %.400s", finding.ID, finding.Impact, finding.Help, node.Target, node.HTML, why))
		}
	}
	return barriers
}
