package page

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/dashboard/view"
)

// TestARejectedReleaseSaysWhatToDo: the page of a rejected release says what to do, and no longer
// what the gate that was rejected needs.
func TestARejectedReleaseSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for standing, mark := range map[string]view.Mark{"Rejected": view.Bad, "RollingUpdate": view.Waiting} {
		gate := view.Gate{Type: "manual", Mark: mark, Needs: "approval by a person"}
		release := &view.Release{Row: view.Row{Standing: standing}, Batches: []view.Batch{{Gates: []view.Gate{gate}}}}
		text, err := Render(Release, &Frame{Content: &releasePage{Release: release}})
		if err != nil {
			t.Fatal(err)
		}
		rejected := standing == "Rejected"
		if got := strings.Contains(string(text), "To continue, release another version or roll back."); got != rejected {
			t.Errorf("%s: says what to do: got %v, want %v", standing, got, rejected)
		}
		if got := strings.Contains(string(text), "needs approval by a person"); got == rejected {
			t.Errorf("%s: says what the gate needs: got %v, want %v", standing, got, !rejected)
		}
	}
}
