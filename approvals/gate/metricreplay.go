package gate

import (
	"fmt"
	"strconv"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
)

// Replayed is the verdict on the evidence at a bound of latency, or on errors if the bound is
// empty.
type Replayed struct {
	Bound    string
	Evidence judge.Evidence
	judge.Verdict
}

// Replay judges the evidence of a comparison again, by the rules that it was judged by. It returns
// the verdict at each bound, and the outcome. An error says what can't be read.
func Replay(c *v1alpha1.Compared) ([]Replayed, v1alpha1.MetricOutcome, error) {
	rules, err := rulesIn(c.Rules)
	if err != nil {
		return nil, "", err
	}
	replayed := make([]Replayed, len(c.Bounds))
	for i, at := range c.Bounds {
		evidence, err := judge.Parse([]byte(at.Evidence))
		if err != nil {
			return nil, "", fmt.Errorf("bounds[%d].evidence: %w", i, err)
		}
		replayed[i] = Replayed{at.Bound, evidence, evidence.Verdict(rules)}
	}
	if len(replayed) == 0 {
		return nil, "", nil
	}
	return replayed, outcomeOf(replayed), nil
}

// rulesWords writes the rules of a verdict.
func rulesWords(r judge.Rules) v1alpha1.ComparedRules {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return v1alpha1.ComparedRules{Alpha: text(r.Alpha), Beta: text(r.Beta), Worse: text(r.Worse), Floor: text(r.Floor)}
}

// rulesIn reads the rules of a verdict.
func rulesIn(words v1alpha1.ComparedRules) (judge.Rules, error) {
	var rules judge.Rules
	for _, one := range []struct {
		name, text string
		to         *float64
	}{
		{"alpha", words.Alpha, &rules.Alpha}, {"beta", words.Beta, &rules.Beta}, {"worse", words.Worse, &rules.Worse}, {"floor", words.Floor, &rules.Floor},
	} {
		value, err := strconv.ParseFloat(one.text, 64)
		if err != nil {
			return rules, fmt.Errorf("rules.%s: %q is not a number", one.name, one.text)
		}
		*one.to = value
	}
	if err := rules.Check(); err != nil {
		return rules, fmt.Errorf("rules: %w", err)
	}
	return rules, nil
}
