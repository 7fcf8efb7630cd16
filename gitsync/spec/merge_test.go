package spec

import (
	"fmt"
	"strings"
	"testing"
)

// TestMergeKeys reads what a merge key brings as kubectl does: a key beside it overrides what is
// merged. A key that is written twice is an error still, and so is one before the merge key, which
// kubectl and kustomize read in different ways.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	const base = "x: &c {name: web, image: \"web:1\"}\n"
	for name, c := range map[string]struct{ text, want, wrong string }{
		"overridden":      {base + "w:\n  <<: *c\n  name: two\n", `{"w":{"image":"web:1","name":"two"},"x":{"image":"web:1","name":"web"}}`, ""},
		"nothing to do":   {base + "w:\n  <<: *c\n  args: [a]\n", `{"w":{"args":["a"],"image":"web:1","name":"web"},"x":{"image":"web:1","name":"web"}}`, ""},
		"two merged":      {base + "z: &d {name: d, a: b}\nw:\n  <<: [*c, *d]\n", `{"w":{"a":"b","image":"web:1","name":"web"},"x":{"image":"web:1","name":"web"},"z":{"a":"b","name":"d"}}`, ""},
		"in a list":       {"x:\n- &c {name: web, image: a}\n- <<: *c\n  name: two\n", `{"x":[{"image":"a","name":"web"},{"image":"a","name":"two"}]}`, ""},
		"after the key":   {base + "w:\n  name: two\n  <<: *c\n", "", `key "name" already set in map`},
		"twice beside it": {base + "w:\n  <<: *c\n  name: two\n  name: three\n", "", `key "name" already set in map`},
		"twice elsewhere": {base + "w:\n  <<: *c\n  name: two\nz: {a: 1, a: 2}\n", "", `key "a" already set in map`},
		"twice merged":    {"x: &c {name: web, name: b}\nw:\n  <<: *c\n  name: two\n", "", `key "name" already set in map`},
		"two merge keys":  {base + "z: &d {name: d}\nw:\n  <<: *c\n  <<: *d\n", "", `already set in map`},
		"in flow":         {base + "w: {<<: {a: 1, b: 2, a: 3}, b: 4}\n", "", `key "a" already set in map`},
	} {
		data, problems := document{text: []byte(c.text), line: 1}.toJSON(Limits{}.withDefaults())
		switch {
		case c.wrong == "" && (len(problems) > 0 || string(data) != c.want):
			t.Errorf("%s: %s, %v", name, data, problems)
		case c.wrong != "" && (len(problems) == 0 || !strings.Contains(fmt.Sprint(problems), c.wrong)):
			t.Errorf("%s: %s, %v, want %q", name, data, problems, c.wrong)
		}
	}
}
