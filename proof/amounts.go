package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// amountFields are the fields of pods in which resource.Quantity is read.
var amountFields = []string{"limits", "requests", "overhead", "sizeLimit", "divisor", "capacity", "allocatedResources"}

// largeExponent matches an amount with an exponent of more than three digits. To read or write one
// can take any time and memory: 1e1000000000 has a billion digits.
var largeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{4,}$`)

// level is an object or list around a value, and the field of the object that is being read.
type level struct {
	object, named bool
	name          string
}

// checkAmounts refuses amounts with large exponents. It goes by tokens, because the decoder reads
// both values of a field that is there twice.
func checkAmounts(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	levels := []level{{}}
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil //nolint:nilerr // the end, or what is refused when the bundle is decoded
		}
		top := &levels[len(levels)-1]
		switch delimiter, is := token.(json.Delim); {
		case is && (delimiter == '{' || delimiter == '['):
			levels = append(levels, level{object: delimiter == '{'})
		case is:
			levels = levels[:len(levels)-1]
			levels[len(levels)-1].named = false
		case top.object && !top.named:
			top.name, top.named = fmt.Sprint(token), true
		default:
			top.named = false
			if word := fmt.Sprint(token); largeExponent.MatchString(word) && slices.ContainsFunc(levels, level.hasAmounts) {
				return fmt.Errorf("%s is no amount: its exponent is too large", line(word))
			}
		}
	}
}

// hasAmounts reports whether amounts are in the field that is being read.
func (l level) hasAmounts() bool {
	return slices.ContainsFunc(amountFields, func(name string) bool { return strings.EqualFold(name, l.name) })
}
