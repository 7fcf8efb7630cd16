package preview

import (
	"strings"
	"testing"
)

// TestUnplaced: a namespace that nobody has named is not in the text.
func TestUnplaced(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]bool{"default": false, "shop": true} {
		p := &Preview{Releases: []Change{{Namespace: name, Name: "web", Kind: Removed}}}
		p.Unplaced("default")
		text := p.text()
		if strings.Contains(text, name+"/web") != said || !strings.Contains(text, "web") {
			t.Errorf("namespace %s: want it said: %t, got:\n%s", name, said, text)
		}
	}
}
