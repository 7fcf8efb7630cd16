package sim

import (
	"testing"
)

// TestStatusLostAnywhere clears the status before each request of each story: the laws hold, whatever was rolled back is not
// released again, and the end is a clean one, of the version that the story ends with.
func TestStatusLostAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tell(s, 0)
			for lost := (fault{event: Event{Kind: LoseStatus}}); lost.before <= whole.requests; lost.before++ {
				told := tellFaulty(s, lost)
				if left := told.unfinished(); left != "" || told.Workload.Template != whole.Workload.Template {
					t.Errorf("with the status lost before request %d, it runs %s, want %s; %s\n%s",
						lost.before, told.Workload.Template, whole.Workload.Template, left, told.text.String())
					return
				}
			}
		})
	}
}
