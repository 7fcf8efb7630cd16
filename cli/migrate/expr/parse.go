// Package expr translates conditions of Argo Rollouts, in the language expr, into CEL; pure.
//
//	len(result) > 0 and result[0] >= 0.95   ─►   size(result) > 0 && result[0] >= 0.95
//
// It reads the grammar of expr-lang 1.17, and writes each part as it reads it, with the parentheses
// that the precedence of CEL needs. What must hold:
//
//   - where both languages evaluate a condition, they come to the same, for the values that Sluice
//     measures: doubles, and JSON, whose numbers are doubles;
//   - a part without an equal is an error.
//
// The languages differ in the values that they can't evaluate. CEL takes error || true for true,
// and error && false for false, where expr stops at the error. A key that an object lacks, and the
// greatest of no numbers or of NaN, are errors in CEL. Such an error makes a measurement one.
package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxLength is the length of a condition in Sluice.
	maxLength = 1024
	// maxDepth bounds how deep parts nest; measure/condition has the same limit.
	maxDepth = 32
)

// ToCEL translates a condition. Path says where in an answer the result is, in names of fields
// (string) and indices (int); empty for the answer itself.
func ToCEL(condition string, path ...any) (string, error) {
	if len(condition) > maxLength {
		return "", fmt.Errorf("it has %d characters, more than %d", len(condition), maxLength)
	}
	tokens, err := split(condition)
	if err != nil {
		return "", err
	}
	result := term{text: "result", strength: primary}
	for _, part := range path {
		switch part := part.(type) {
		case string:
			result = fieldOf(result, part)
		case int:
			result = itemOf(result, part)
		}
	}
	p := &parser{tokens: tokens, result: result}
	whole, err := p.expression(0)
	if err != nil {
		return "", err
	}
	if p.now().kind != end {
		return "", fmt.Errorf("%s is not expected there", p.now())
	}
	return whole.text, nil
}

// parser reads the words of a condition.
type parser struct {
	tokens []token
	at     int
	depth  int
	// result is the term for the measured value.
	result term
	// items are the variables of the predicates around, the innermost last.
	items []string
}

func (p *parser) now() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) expect(one string) error {
	if t := p.next(); !t.is(one) {
		return fmt.Errorf("%q is expected, not %s", one, t)
	}
	return nil
}

// precedence holds the precedence of each operator of expr that CEL has, too.
var precedence = map[string]int{
	"or": 10, "||": 10, "and": 15, "&&": 15,
	"==": 20, "!=": 20, "<": 20, ">": 20, "<=": 20, ">=": 20, "in": 20, "matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20,
	"+": 30, "-": 30, "*": 60, "/": 60,
}

// foreign are operators that have no equal, with what to write in CEL.
var foreign = map[string]string{
	"|": "call the function", "%": "CEL has it for whole numbers alone", "**": "multiply", "^": "multiply", "??": "use has(…) ? … : …",
	"..": "list the values", "?.": "use has(…)", ";": "write the variables out", "let": "write the variable out", "if": "use … ? … : …",
	"//": "remove the comment", "/*": "remove the comment", "::": "call the function", "{": "compare the fields one by one",
}

func noEqual(operator string) error {
	return fmt.Errorf("%s has no equal in CEL: %s", operator, foreign[operator])
}

// expression reads operators that bind at least as strongly as the least.
func (p *parser) expression(least int) (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, errors.New("it is nested too deep")
	}
	defer func() { p.depth-- }()
	left, err := p.operand()
	for err == nil {
		t := p.now()
		if t.kind != sign {
			break
		}
		negated := t.is("not")
		if negated {
			t = p.tokens[min(p.at+1, len(p.tokens)-1)]
		}
		binds, known := precedence[t.text]
		if _, is := foreign[t.text]; is && !negated {
			return term{}, noEqual(t.text)
		}
		if !known || binds < least || negated && !t.is("in", "matches", "contains", "startsWith", "endsWith") {
			break
		}
		if p.next(); negated {
			p.next()
		}
		if left, err = p.operation(left, t.text, binds); err == nil && negated {
			left = term{text: "!" + left.in(primary), kind: truth, strength: unary}
		}
	}
	if err == nil && least == 0 && p.now().is("?") {
		left, err = p.choice(left)
	}
	return short(left, err)
}

// short refuses terms that are too long: some are written twice.
func short(of term, err error) (term, error) {
	if err == nil && len(of.text) > maxLength {
		return term{}, fmt.Errorf("in CEL it has more than %d characters", maxLength)
	}
	return of, err
}

// operation reads the right side of an operator.
func (p *parser) operation(left term, operator string, binds int) (term, error) {
	right, err := p.expression(binds + 1)
	if err != nil {
		return term{}, err
	}
	switch operator {
	case "or", "||":
		return join(left, "||", right, either), nil
	case "and", "&&":
		return join(left, "&&", right, both), nil
	case "==", "!=":
		return equation(left, operator, right, p.result)
	case "in":
		return join(left, "in", right, relation), nil
	case "matches", "contains", "startsWith", "endsWith":
		return term{text: left.in(primary) + "." + operator + "(" + right.text + ")", kind: truth, strength: primary}, nil
	case "<", ">", "<=", ">=":
		return p.comparison(left, operator, right)
	}
	return calculation(left, operator, right), nil
}

// join writes an operator that gives a truth.
func join(left term, operator string, right term, of strength) term {
	return term{text: left.in(of) + " " + operator + " " + right.in(of+1), kind: truth, strength: of}
}

// comparison writes a < b, and a < b < c as a < b && b < c.
func (p *parser) comparison(left term, operator string, right term) (term, error) {
	whole := join(left, operator, right, relation)
	for p.now().is("<", ">", "<=", ">=") {
		next := p.next().text
		following, err := p.expression(precedence[next] + 1)
		if err != nil {
			return term{}, err
		}
		whole = join(whole, "&&", join(right, next, following, relation), both)
		right = following
	}
	return whole, nil
}

// equation writes a comparison with == or !=. Of a field, nil means that it is missing, too.
func equation(left term, operator string, right, result term) (term, error) {
	if left.kind == null {
		left, right = right, left
	}
	if right.kind != null || left.text == result.text {
		left, right = alike(left, right)
		return join(left, operator, right, relation), nil
	}
	if !left.field {
		return term{}, fmt.Errorf("the comparison of %s with nil has no equal in CEL", left.text)
	}
	if operator == "==" {
		return term{text: "!has(" + left.text + ") || " + left.text + " == null", kind: truth, strength: either}, nil
	}
	return term{text: "has(" + left.text + ") && " + left.text + " != null", kind: truth, strength: both}, nil
}

// calculation writes an operator of arithmetic, or joins texts.
func calculation(left term, operator string, right term) term {
	of := sum
	if operator == "*" || operator == "/" {
		of = product
	}
	result := double
	if operator == "+" && (left.kind == text || right.kind == text) {
		result = text
	}
	left, right = left.double(), right.double()
	if operator == "+" && left.kind == unknown && right.kind == unknown {
		result = unknown
	}
	return term{text: left.in(of) + " " + operator + " " + right.in(of+1), kind: result, strength: of}
}

// choice reads condition ? a : b.
func (p *parser) choice(condition term) (term, error) {
	p.next()
	if p.now().is(":") {
		return term{}, errors.New("?: has no equal in CEL: use … ? … : …")
	}
	yes, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	if err := p.expect(":"); err != nil {
		return term{}, err
	}
	no, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	yes, no = alike(yes, no)
	whole := term{text: condition.in(either) + " ? " + yes.in(either) + " : " + no.in(choice), strength: choice}
	if yes.kind == no.kind {
		whole.kind = yes.kind
	}
	return whole, nil
}

// operand reads a value with the operators before and after it.
func (p *parser) operand() (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, errors.New("it is nested too deep")
	}
	defer func() { p.depth-- }()
	t := p.next()
	switch {
	case t.is("not", "!"):
		of, err := p.expression(50)
		return term{text: "!" + of.in(unary), kind: truth, strength: unary}, err
	case t.is("-"):
		of, err := p.operand()
		if of.constant && of.text == "0" { // which has no sign
			return of, err
		}
		if of.constant && !strings.HasPrefix(of.text, "-") {
			of.text, of.strength = "-"+of.text, unary
			return of, err
		}
		of = of.double()
		return term{text: "-" + of.in(primary), kind: of.kind, strength: unary}, err
	case t.is("+"):
		return p.operand()
	case t.is("("):
		of, err := p.expression(0)
		if err == nil {
			err = p.expect(")")
		}
		if err != nil {
			return term{}, err
		}
		return p.parts(of)
	}
	of, err := p.value(t)
	if err != nil {
		return term{}, err
	}
	return p.parts(of)
}

// value reads a value that begins with a token.
func (p *parser) value(t token) (term, error) {
	switch {
	case t.kind == literal:
		return textTerm(t.text), nil
	case t.kind == number:
		of, is := numberTerm(t.text)
		if !is {
			return term{}, fmt.Errorf("%s is not a number", t)
		}
		return of, nil
	case t.is("["):
		return p.list()
	case t.is("#") && len(p.items) > 0:
		if p.now().kind == name {
			return term{}, fmt.Errorf("#%s has no equal in CEL", p.now().text)
		}
		return p.item(), nil
	case t.is(".") && len(p.items) > 0:
		p.at-- // the dot selects a field of the item
		return p.item(), nil
	case t.kind == name && p.now().is("("):
		return p.call(t.text)
	case t.kind == name:
		return p.named(t.text)
	case t.kind == sign && foreign[t.text] != "":
		return term{}, noEqual(t.text)
	}
	return term{}, fmt.Errorf("%s is not expected there", t)
}

// item returns the variable of the innermost predicate.
func (p *parser) item() term {
	return term{text: p.items[len(p.items)-1], strength: primary}
}

func (p *parser) named(word string) (term, error) {
	switch word {
	case "result":
		return p.result, nil
	case "true", "false":
		return term{text: word, kind: truth, strength: primary}, nil
	case "nil":
		return term{text: "null", kind: null, strength: primary}, nil
	}
	return term{}, fmt.Errorf("%q is not a variable", word)
}

func (p *parser) list() (term, error) {
	items, err := p.terms("]")
	if err != nil {
		return term{}, err
	}
	return term{text: "[" + strings.Join(items, ", ") + "]", kind: list, strength: primary}, nil
}

// terms reads terms with commas up to a closing bracket.
func (p *parser) terms(closing string) ([]string, error) {
	var all []string
	for !p.now().is(closing) {
		if len(all) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.now().is(closing) {
				break
			}
		}
		one, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		all = append(all, one.text)
	}
	p.next()
	return all, nil
}

// parts reads the fields and items that are selected of a term.
func (p *parser) parts(of term) (term, error) {
	for {
		switch {
		case p.now().is("?."):
			return term{}, noEqual("?.")
		case p.now().is("."):
			p.next()
			field := p.next()
			if field.kind != name && !words[field.text] {
				return term{}, fmt.Errorf("a name is expected after the dot, not %s", field)
			}
			if p.now().is("(") {
				return term{}, fmt.Errorf("the method %s has no equal in CEL", field.text)
			}
			of = fieldOf(of, field.text)
		case p.now().is("["):
			p.next()
			next, err := short(p.index(of))
			if err != nil {
				return term{}, err
			}
			of = next
		default:
			return of, nil
		}
	}
}

// index reads an index up to its closing bracket.
func (p *parser) index(of term) (term, error) {
	t := p.next()
	minus := t.is("-")
	if minus {
		t = p.next()
	}
	if !p.now().is("]") {
		return term{}, errors.New("an index that is not a number and no text, or a slice, has no equal in CEL")
	}
	p.next()
	if t.kind == literal && !minus {
		return fieldOf(of, t.text), nil
	}
	value, err := strconv.Atoi(strings.ReplaceAll(t.text, "_", ""))
	if t.kind != number || err != nil {
		return term{}, fmt.Errorf("%s is not an index", t)
	}
	if minus {
		value = -value
	}
	return itemOf(of, value), nil
}
