package expr

import (
	"fmt"
	"strings"
)

// function is a function of expr with its equal in CEL.
type function struct {
	cel  string
	kind kind
	// several says that the function takes more arguments than one.
	several bool
}

var functions = map[string]function{
	"len":     {cel: "size", kind: integer},
	"isNaN":   {cel: "isNaN", kind: truth},
	"isInf":   {cel: "isInf", kind: truth},
	"asInt":   {cel: "int", kind: integer},
	"int":     {cel: "int", kind: integer},
	"asFloat": {cel: "double", kind: double},
	"float":   {cel: "double", kind: double},
	"abs":     {cel: "math.abs", kind: double},
	"ceil":    {cel: "math.ceil", kind: double},
	"floor":   {cel: "math.floor", kind: double},
	"round":   {cel: "math.round", kind: double},
	"max":     {cel: "math.greatest", several: true},
	"min":     {cel: "math.least", several: true},
}

// predicate is a function of expr that looks at each item of a list, with its equal in CEL.
type predicate struct {
	cel  string
	kind kind
	// around has the call in CEL in the place of %s.
	around   string
	strength strength
}

var predicates = map[string]predicate{
	"all":    {cel: "all", kind: truth, around: "%s", strength: primary},
	"any":    {cel: "exists", kind: truth, around: "%s", strength: primary},
	"one":    {cel: "exists_one", kind: truth, around: "%s", strength: primary},
	"none":   {cel: "exists", kind: truth, around: "!%s", strength: unary},
	"filter": {cel: "filter", kind: list, around: "%s", strength: primary},
	"map":    {cel: "map", kind: list, around: "%s", strength: primary},
	"count":  {cel: "filter", kind: integer, around: "size(%s)", strength: primary},
}

// call reads the arguments of a function.
func (p *parser) call(word string) (term, error) {
	p.next()
	if of, is := predicates[word]; is {
		return p.predicate(word, of)
	}
	if word == "default" || word == "isNil" {
		return p.ofNil(word)
	}
	of, known := functions[word]
	if !known {
		return term{}, fmt.Errorf("the function %s has no equal in CEL", word)
	}
	first, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	if of.kind == double && of.cel != "double" || of.several {
		first = first.double()
	}
	arguments := first.text
	for of.several && p.now().is(",") {
		p.next()
		another, err := p.expression(0)
		if err != nil {
			return term{}, err
		}
		arguments += ", " + another.double().text
	}
	if err := p.expect(")"); err != nil {
		return term{}, err
	}
	return term{text: of.cel + "(" + arguments + ")", kind: of.kind, strength: primary}, nil
}

// predicate reads a list and what is asked of each item.
func (p *parser) predicate(word string, of predicate) (term, error) {
	items, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	if !p.now().is(",") {
		return term{}, fmt.Errorf("%s without a predicate has no equal in CEL", word)
	}
	p.next()
	closing := ""
	if p.now().is("{") {
		p.next()
		closing = "}"
	}
	variable := "x" + strings.Repeat("x", len(p.items))
	p.items = append(p.items, variable)
	asked, err := p.expression(0)
	p.items = p.items[:len(p.items)-1]
	if err == nil && closing != "" {
		err = p.expect(closing)
	}
	if err == nil && p.now().is(",") {
		p.next()
	}
	if err == nil {
		err = p.expect(")")
	}
	if err != nil {
		return term{}, err
	}
	call := items.in(primary) + "." + of.cel + "(" + variable + ", " + asked.text + ")"
	return term{text: fmt.Sprintf(of.around, call), kind: of.kind, strength: of.strength}, nil
}

// ofNil reads default(result, value) and isNil(result). Argo looks at the result, whatever the
// argument is.
func (p *parser) ofNil(word string) (term, error) {
	asked, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	if asked.text != p.result.text {
		return term{}, fmt.Errorf("%s of anything but result has no equal in CEL", word)
	}
	if word == "isNil" {
		return term{text: asked.text + " == null", kind: truth, strength: relation}, p.expect(")")
	}
	if err := p.expect(","); err != nil {
		return term{}, err
	}
	otherwise, err := p.expression(0)
	if err != nil {
		return term{}, err
	}
	otherwise = otherwise.double()
	text := asked.text + " == null ? " + otherwise.in(either) + " : " + asked.text
	return term{text: text, strength: choice}, p.expect(")")
}
