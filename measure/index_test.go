package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestByLabel: values are found by a label, also in an answer that callers share, and what makes
// them ambiguous is named.
func TestByLabel(t *testing.T) {
	t.Parallel()
	series := []Series{
		{Labels: map[string]string{"pod": "a", "code": "500"}, Value: 1},
		{Labels: map[string]string{"pod": "a"}, Value: 2},
		{Labels: map[string]string{"pod": "b", "code": "502"}, Value: 3},
	}
	for name, answer := range map[string]*Answer{"own": {Series: series}, "shared": {Series: series, index: &index{of: map[string]ByLabel{}}}} {
		for range 2 {
			want := ByLabel{Values: map[string]float64{"a": 2, "b": 3}, Twice: "a"}
			if diff := cmp.Diff(want, answer.By("pod")); diff != "" {
				t.Errorf("%s by pod: want -, got +:\n%s", name, diff)
			}
			want = ByLabel{Values: map[string]float64{"500": 1, "": 2, "502": 3}, Missing: true}
			if diff := cmp.Diff(want, answer.By("code")); diff != "" {
				t.Errorf("%s by code: want -, got +:\n%s", name, diff)
			}
		}
	}
}
