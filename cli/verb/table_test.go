package verb

import "testing"

// TestEveryRowIsWhole: each verb has the texts and functions that commands and pages need.
func TestEveryRowIsWhole(t *testing.T) {
	t.Parallel()
	for _, v := range All {
		if Named(v.Name) != v || v.Needs.Resource == "" || v.Button.Text == "" || v.Written == "" || v.Again == "" || v.decide == nil || v.done == nil {
			t.Errorf("%s: want a name of its own, a right, a button, words, and decisions, got %+v", v.Name, v)
		}
		if (v.Asks == Answer) != (v.Text != nil) || (v.Asks == Answer) != (v.undecided != nil) || (v.choices != nil) != (v.Asks == Batch || v.Asks == Version) {
			t.Errorf("%s: want the input that it asks for", v.Name)
		}
		if v.Taken == nil && v.undecided == nil {
			t.Errorf("%s: want to know when the controller has acted", v.Name)
		}
	}
}
