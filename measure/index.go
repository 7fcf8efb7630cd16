package measure

import "sync"

// ByLabel has the values of an answer by one of its labels.
type ByLabel struct {
	Values map[string]float64
	// Missing says that a series has no such label. Twice is the value of the label of a second series;
	// empty if there is none.
	Missing bool
	Twice   string
}

// index keeps the values of an answer by label, for all who share the answer.
type index struct {
	mu sync.Mutex
	of map[string]ByLabel
}

// By returns the values of an answer by a label. Callers must not change them.
func (a *Answer) By(label string) ByLabel {
	if a.index == nil {
		return byLabel(a.Series, label)
	}
	a.index.mu.Lock()
	defer a.index.mu.Unlock()
	known, is := a.index.of[label]
	if !is {
		known = byLabel(a.Series, label)
		a.index.of[label] = known
	}
	return known
}

func byLabel(series []Series, label string) ByLabel {
	by := ByLabel{Values: make(map[string]float64, len(series))}
	for _, s := range series {
		value, is := s.Labels[label]
		if _, twice := by.Values[value]; twice && by.Twice == "" {
			by.Twice = value
		}
		by.Missing = by.Missing || !is
		by.Values[value] = s.Value
	}
	return by
}
