package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWalksAsText writes setups and events of random walks, and reads them again.
func TestWalksAsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := beginWith(t, drawRouted(t, rapid.Int32Range(0, 12).Draw(t, "replicas")))
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			w.script.lines = append(w.script.lines, scriptLine{event: w.anything("event")})
		}
		again, err := readScript("walk.txt", w.script.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, &w.script)
		}
		if diff := cmp.Diff(w.script.setup, again.setup); diff != "" {
			t.Fatalf("another setup (-written +read):\n%s", diff)
		}
		for i, line := range w.script.lines {
			if diff := cmp.Diff(line.event, again.lines[i].event); diff != "" {
				t.Fatalf("line %q is another event (-written +read):\n%s", line.event, diff)
			}
		}
	})
}

// TestErrorsOfWalks checks that errors name the line and what is wrong with it.
func TestErrorsOfWalks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"setup replicas many":          `walk.txt:2: setup replicas: strconv.ParseInt: parsing "many"`,
		"setup size 3":                 "walk.txt:2: setup size: there is no such field",
		"setup steps 1 sock, 100%":     `walk.txt:2: setup steps: "1 sock, 100%" reads as "1 manual, 100%"`,
		"setup maxSurge some":          "walk.txt:2: setup maxSurge: ",
		"give v2\nsetup replicas 3":    "walk.txt:3: setup replicas 3: the setup comes before all events",
		"push v2":                      `walk.txt:2: "push v2" is no event`,
		"2 times: pass; jumpp":         `walk.txt:2: "jumpp" is no event`,
		"pass that races 2":            `walk.txt:2: "pass that races 2": what races is a pass, with an event`,
		"give v2 with scale 3":         `walk.txt:2: "give v2": what races is a pass, with an event`,
		"expect color blue":            "walk.txt:2: expect color: there is no such thing",
		"pass that races 2 with paint": `walk.txt:2: "paint" is no event`,
	} {
		if _, err := readScript("walk.txt", "# why\n"+text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
