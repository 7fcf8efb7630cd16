package lint

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/plain"
)

// Formats are those of a report. Text has a line for each finding, as compilers write them.
var Formats = []plain.Format{plain.Text, plain.JSON, plain.GitHub}

// Write writes the report.
func (r *Report) Write(to io.Writer, format plain.Format) error {
	return plain.Write(to, format, r.summary(), map[plain.Format]func() string{
		plain.Text:   func() string { return r.lines(line) },
		plain.GitHub: func() string { return r.lines(annotation) },
	})
}

// summary returns the report as JSON has it.
func (r *Report) summary() any {
	findings := r.Findings
	if findings == nil {
		findings = []Finding{} // an empty list, not null
	}
	return struct {
		Files    int       `json:"files"`
		Releases int       `json:"releases"`
		Errors   int       `json:"errors"`
		Warnings int       `json:"warnings"`
		Findings []Finding `json:"findings"`
		Notices  []Finding `json:"notices,omitempty"`
	}{r.Files, r.Releases, r.Count(Error), r.Count(Warning), findings, r.Notices}
}

func (r *Report) lines(write func(Finding) string) string {
	var text strings.Builder
	for _, finding := range slices.Concat(r.Findings, r.Notices) {
		text.WriteString(write(finding) + "\n")
	}
	fmt.Fprintf(&text, "%s in %s: %s\n", count(r.Releases, "release"), count(r.Files, "file"), r.found())
	return text.String()
}

// found says how many findings there are.
func (r *Report) found() string {
	return count(r.Count(Error), "error") + ", " + count(r.Count(Warning), "warning")
}

func count(n int, of string) string {
	if n == 0 {
		return "no " + of + "s"
	}
	return plain.Count(n, of)
}

func line(f Finding) string {
	place := plain.Place(f.File)
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", place, f.Line, f.Column)
	}
	return fmt.Sprintf("%s: %s: %s", place, f.Severity, plain.Line(f.Message))
}

func annotation(f Finding) string {
	place := ""
	if f.Line > 0 {
		place = fmt.Sprintf(",line=%d,col=%d", f.Line, f.Column)
	}
	return fmt.Sprintf("::%s file=%s%s,title=sluice lint::%s", f.Severity, inProperty.Replace(plain.Line(f.File)), place, inMessage.Replace(plain.Lines(f.Message)))
}

// What workflow commands have to be spared, in a message and in a property.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
