package migrate

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// maxMessage is the length of a message.
const maxMessage = 1000

// Part is a part of the output.
type Part string

// The parts.
const (
	All       Part = "all"
	Providers Part = "providers"
	Gates     Part = "gates"
)

// Parts are the parts that a user can ask for.
var Parts = []Part{All, Providers, Gates}

// Write writes MetricProviders and gates as YAML.
func (r *Result) Write(to io.Writer, part Part) error {
	var documents []string
	if part != Gates {
		for _, p := range r.providers {
			text, err := p.text()
			if err != nil {
				return err
			}
			documents = append(documents, text)
		}
	}
	if part != Providers {
		for _, g := range r.gates {
			text, err := g.text()
			if err != nil {
				return err
			}
			documents = append(documents, text)
		}
	}
	_, err := io.WriteString(to, strings.Join(documents, "---\n"))
	return err
}

func (p *provider) text() (string, error) {
	body, err := yaml.Marshal(p.MetricProvider)
	if err != nil {
		return "", fmt.Errorf("encode MetricProvider %s: %w", p.Name, err)
	}
	var text strings.Builder
	text.WriteString(comment("From " + strings.Join(p.from, ", ") + ". Apply it with kubectl: Sluice creates no MetricProvider from Git."))
	if p.credentials != nil {
		text.WriteString(comment("Create Secret " + p.Name + " in its namespace before, with " + strings.Join(p.credentials, " and ") + "."))
	}
	text.Write(body)
	for _, o := range p.offers {
		metric, err := yaml.Marshal([]v1alpha1.SharedMetric{o.metric})
		if err != nil {
			return "", fmt.Errorf("encode metric %s: %w", o.metric.Name, err)
		}
		text.WriteString("#\n" + comment(o.words))
		for line := range strings.Lines(string(metric)) {
			text.WriteString("# " + line)
		}
	}
	return text.String(), nil
}

func (g gates) text() (string, error) {
	name, to := "gates", "for a step of a BatchRelease, in spec.strategy.steps"
	if g.guards {
		name, to = "guards", "for a BatchRelease, in spec.strategy"
	}
	body, err := yaml.Marshal(map[string][]v1alpha1.GatePolicy{name: g.policies})
	if err != nil {
		return "", fmt.Errorf("encode gates: %w", err)
	}
	return comment("From "+g.from+": "+to+".") + string(body), nil
}

// comment writes a text as a comment of one line.
func comment(text string) string { return "# " + plain.UpTo(plain.Line(text), maxText) + "\n" }

// String writes the finding on a line, as compilers do.
func (f Finding) String() string {
	place := plain.Place(f.File)
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", place, f.Line, f.Column)
	}
	if f.File != "" {
		place += ": "
	}
	field := plain.UpTo(plain.Line(f.Field), maxShown)
	if field != "" {
		field += ": "
	}
	return place + string(f.Kind) + ": " + field + plain.UpTo(plain.Line(f.Message), maxMessage)
}

// Summary says in a line what became of the input.
func (r *Result) Summary() string {
	return fmt.Sprintf("%s translated, %d left out, %d changed", plain.Count(r.Metrics, "metric"), r.Count(LeftOut), r.Count(Changed))
}
