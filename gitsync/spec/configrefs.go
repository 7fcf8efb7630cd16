package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// takeAlong has the release's template name copies in place of the originals.
func (r *Release) takeAlong(copies []*Copy) {
	names := map[podtemplate.Reference]string{}
	for _, c := range copies {
		names[podtemplate.Reference{Kind: c.Kind, Name: c.Of}] = c.Name
	}
	used := map[podtemplate.Reference]bool{}
	template := toMap(r.template)
	podtemplate.Refer(template, func(ref podtemplate.Reference, path string) string {
		if to, is := names[ref]; is {
			used[ref] = true
			return to
		}
		if of := original(copies, ref); of != "" {
			r.literal = append(r.literal, pathProblem{"spec.template." + path, fmt.Sprintf(
				"spec.template.%s: %s is the name of a copy, which changes with its content: write %s", path, ref.Name, of)})
		}
		return ref.Name
	})
	for _, c := range copies {
		if !used[podtemplate.Reference{Kind: c.Kind, Name: c.Of}] {
			r.Unused = append(r.Unused, c)
		}
	}
	r.Generated = slices.DeleteFunc(slices.Clone(r.Generated), func(name string) bool {
		return slices.ContainsFunc(copies, func(c *Copy) bool { return name == c.Kind+" "+c.Of })
	})
	data, _ := json.Marshal(template) // it was just decoded
	r.Copies, r.template = copies, data
	r.TemplateDigest, _ = podtemplate.Given(data)
}

// original returns the name of which a reference names a copy; empty if it names none.
func original(copies []*Copy, ref podtemplate.Reference) string {
	for _, c := range copies {
		prefix := c.Name[:len(c.Name)-hashLength]
		if c.Kind == ref.Kind && len(ref.Name) == len(c.Name) && ref.Name[:len(prefix)] == prefix && hash.MatchString(ref.Name[len(prefix):]) {
			return c.Of
		}
	}
	return ""
}

var hash = regexp.MustCompile(`^[0-9a-f]+$`)
