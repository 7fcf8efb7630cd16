package migrate

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	maxLabel = 63
	// maxName is the length of the name of an object.
	maxName = 253
)

var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	dataKey   = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	parameter = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`)
)

func isLabel(name string) bool { return len(name) <= maxLabel && label.MatchString(name) }

// isObjectName reports whether an object can have the name.
func isObjectName(name string) bool { return len(name) <= maxName && subdomain.MatchString(name) }

var (
	notOfLabel     = regexp.MustCompile(`[^a-z0-9]+`)
	notOfParameter = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)
)

// labelOf makes a label of a name, with another one if nothing is left.
func labelOf(name, otherwise string) string {
	name = notOfLabel.ReplaceAllString(strings.ToLower(name[:min(len(name), 4*maxLabel)]), "-")
	name = strings.Trim(name, "-")
	name = strings.Trim(name[:min(len(name), maxLabel)], "-")
	if name == "" {
		return otherwise
	}
	return name
}

// parameterOf makes the name of an argument.
func parameterOf(name string) string {
	name = notOfParameter.ReplaceAllString(name[:min(len(name), 4*maxLabel)], "-")
	name = strings.TrimLeft(name, "-_0123456789")
	if name = name[:min(len(name), maxLabel)]; name == "" {
		return "argument"
	}
	return name
}

// free returns the first of name, name-2, name-3 ... that is not taken.
func free(name string, taken func(string) bool) string {
	candidate := name
	for i := 2; taken(candidate); i++ {
		suffix := "-" + strconv.Itoa(i)
		candidate = strings.TrimRight(name[:min(len(name), maxLabel-len(suffix))], "-") + suffix
	}
	return candidate
}
