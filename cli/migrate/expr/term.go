package expr

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a term, as far as the text tells.
type kind int

const (
	// unknown is a measured value. Its numbers are doubles, in Prometheus and in JSON.
	unknown kind = iota
	integer
	double
	text
	truth
	list
	null
)

// strength says how strongly the operator of a term binds in CEL.
type strength int

const (
	choice strength = iota
	either
	both
	relation
	sum
	product
	unary
	primary
)

// term is a part of a condition, written in CEL.
type term struct {
	text     string
	kind     kind
	strength strength
	// constant says that the term is a number as it is written.
	constant bool
	// field says that the term selects a field by its name.
	field bool
}

// in writes a term as an operand of an operator.
func (t term) in(of strength) string {
	if t.strength < of {
		return "(" + t.text + ")"
	}
	return t.text
}

// double writes a term so that CEL calculates with doubles. It has no operators between a double
// and an integer.
func (t term) double() term {
	switch {
	case t.kind != integer:
		return t
	case t.constant:
		t.text, t.kind = t.text+".0", double
		return t
	}
	return term{text: "double(" + t.text + ")", kind: double, strength: primary}
}

// alike writes two terms so that CEL compares them: an integer and a double are never equal there.
func alike(a, b term) (x, y term) {
	if a.kind == double && b.kind == integer || a.kind == integer && b.kind == double {
		return a.double(), b.double()
	}
	return a, b
}

// textTerm writes a text. The escapes of Go mean the same in CEL.
func textTerm(value string) term {
	return term{text: strconv.Quote(value), kind: text, strength: primary}
}

// numberTerm reads a number as expr does; false if it is none.
func numberTerm(word string) (term, bool) {
	digits := strings.ReplaceAll(word, "_", "")
	lower := strings.ToLower(digits)
	whole := strings.HasPrefix(lower, "0x") || strings.HasPrefix(lower, "0b") || strings.HasPrefix(lower, "0o")
	if !whole && strings.ContainsAny(lower, ".e") {
		value, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return term{}, false
		}
		return doubleTerm(value), true
	}
	base := 10
	if whole {
		base = 0
	}
	value, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return term{}, false
	}
	return term{text: strconv.FormatInt(value, 10), kind: integer, strength: primary, constant: true}, true
}

func doubleTerm(value float64) term {
	written := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(written, ".e") {
		written += ".0"
	}
	of := primary
	if value < 0 {
		of = unary
	}
	return term{text: written, kind: double, strength: of, constant: true}
}

// identifier matches the names that CEL takes after a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are words that CEL does not take as names.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace", "null",
	"package", "return", "true", "var", "void", "while",
}

// fieldOf selects a field of a term.
func fieldOf(of term, name string) term {
	if identifier.MatchString(name) && !slices.Contains(reserved, name) {
		return term{text: of.in(primary) + "." + name, strength: primary, field: true}
	}
	return term{text: of.in(primary) + "[" + strconv.Quote(name) + "]", strength: primary}
}

// itemOf selects an item of a list; a negative index counts from its end.
func itemOf(of term, index int) term {
	at := strconv.Itoa(index)
	if index < 0 {
		at = "size(" + of.text + ") - " + strconv.Itoa(-index)
	}
	return term{text: of.in(primary) + "[" + at + "]", strength: primary}
}
