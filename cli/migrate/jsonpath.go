package migrate

import (
	"regexp"
	"strconv"
	"strings"
)

// step matches a step of a plain path in JSONPath: .name, ['name'] or [0].
var step = regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\['([^'\\]*)'\]|\["([^"\\]*)"\]|\[([0-9]{1,9})\])`)

// pathOf returns the names and indices of a plain path such as {$.data.items[0]}. False says that
// the text selects in another way.
func pathOf(text string) ([]any, bool) {
	rest, opened := strings.CutPrefix(strings.TrimSpace(text), "{")
	rest, closed := strings.CutSuffix(rest, "}")
	if !opened || !closed {
		return nil, false
	}
	rest = strings.TrimPrefix(strings.TrimSpace(rest), "$")
	var path []any
	for rest != "" {
		match := step.FindStringSubmatch(rest)
		switch {
		case match == nil || len(path) > 20:
			return nil, false
		case match[4] != "":
			index, err := strconv.Atoi(match[4])
			if err != nil {
				return nil, false
			}
			path = append(path, index)
		default:
			path = append(path, match[1]+match[2]+match[3])
		}
		rest = rest[len(match[0]):]
	}
	return path, true
}
