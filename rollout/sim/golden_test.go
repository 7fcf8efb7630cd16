package sim

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// TestStories compares what is written in whole releases, and why, with testdata.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := tell(s, 0)
			if left := told.unfinished(); left != "" {
				t.Fatalf("the story does not end well: %s\n%s", left, told.text.String())
			}
			got, file := told.text.String(), filepath.Join("testdata", name+".txt")
			want, err := os.ReadFile(file)
			if err != nil && !*update {
				t.Fatal(err)
			}
			if *update { // what is written anew differs from what was there, and fails
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the story is another one (-want +got); if it is meant, run with -update:\n%s", diff)
			}
		})
	}
}

// afterStop is how many writes a stop may cost: those of one pass, done again.
const afterStop = 3

// TestStopAnywhere stops the process after each write of each story and lets a new one go on:
// the end is the same, and hardly more is written (I7, I9).
func TestStopAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tell(s, 0)
			for stop := 1; stop <= whole.writes; stop++ {
				told := tell(s, stop)
				if left := told.unfinished(); left != "" {
					t.Fatalf("stopped after write %d it does not end well: %s\n%s", stop, left, told.text.String())
				}
				if diff := cmp.Diff(endOf(whole.State.World), endOf(told.State.World)); diff != "" {
					t.Errorf("stopped after write %d it ends otherwise (-want +got):\n%s\n%s", stop, diff, told.text.String())
				}
				if told.writes > whole.writes+afterStop {
					t.Errorf("stopped after write %d it takes %d writes, %d without a stop:\n%s",
						stop, told.writes, whole.writes, told.text.String())
				}
			}
		})
	}
}
