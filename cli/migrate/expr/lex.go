package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a condition.
type token struct {
	kind tokenKind
	// text is the word as it is written; of a text its value.
	text string
}

type tokenKind int

const (
	end tokenKind = iota
	name
	number
	literal
	// sign is an operator or a bracket.
	sign
)

// is reports whether a token is one of several operators or brackets.
func (t token) is(signs ...string) bool {
	return t.kind == sign && slices.Contains(signs, t.text)
}

func (t token) String() string {
	if t.kind == end {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// words are operators that are words.
var words = map[string]bool{
	"not": true, "in": true, "or": true, "and": true, "matches": true, "contains": true, "startsWith": true, "endsWith": true,
	"let": true, "if": true, "else": true,
}

// signs are the operators and brackets, the longest first.
var signs = []string{
	"&&", "||", "==", "!=", "<=", ">=", "**", "..", "?.", "??", "//", "/*", "::",
	"(", ")", "[", "]", "{", "}", ",", ";", "=", "%", "+", "-", "^", "!", "*", "<", ">", "/", "|", ":", "?", "#", ".",
}

// split cuts a condition into its words.
func split(text string) ([]token, error) {
	var tokens []token
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		var next token
		switch {
		case unicode.IsSpace(r):
			text = text[size:]
			continue
		case isDigit(r), r == '.' && len(text) > 1 && isDigit(rune(text[1])):
			next = token{number, text[:lengthOfNumber(text)]}
			size = len(next.text)
		case isOfName(r):
			size = strings.IndexFunc(text, func(r rune) bool { return !isOfName(r) })
			if size < 0 {
				size = len(text)
			}
			next = token{name, text[:size]}
			if words[next.text] {
				next.kind = sign
			}
		case r == '"', r == '\'', r == '`':
			value, length, err := unquote(text)
			if err != nil {
				return nil, err
			}
			next, size = token{literal, value}, length
		default:
			next = token{sign, signAt(text)}
			if size = len(next.text); size == 0 {
				return nil, fmt.Errorf("%q is not an operator", r)
			}
		}
		tokens, text = append(tokens, next), text[size:]
	}
	return append(tokens, token{}), nil
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isOfName(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func signAt(text string) string {
	for _, one := range signs {
		if strings.HasPrefix(text, one) {
			return one
		}
	}
	return ""
}

// lengthOfNumber returns the length of the number that a text begins with. It takes in the letters
// that follow, so that 1x is not a number.
func lengthOfNumber(text string) int {
	i := 0
	for i < len(text) {
		c := rune(text[i])
		exponent := (c == '+' || c == '-') && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && !strings.HasPrefix(text, "0x")
		rangeOf := c == '.' && i+1 < len(text) && text[i+1] == '.'
		if rangeOf || !isOfName(c) && c != '.' && !exponent {
			break
		}
		i++
	}
	return i
}

// unquote returns the value of the quoted text at the start of a text, and its length with quotes.
func unquote(text string) (string, int, error) {
	quote, rest := text[0], text[1:]
	var value strings.Builder
	for rest != "" && rest[0] != quote {
		if quote == '`' || rest[0] != '\\' {
			_, size := utf8.DecodeRuneInString(rest)
			value.WriteString(rest[:size])
			rest = rest[size:]
			continue
		}
		if len(rest) > 1 && strings.ContainsRune("\"'`", rune(rest[1])) {
			value.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", 0, fmt.Errorf("%.10q has an unknown escape", rest)
		}
		value.WriteRune(r)
		rest = tail
	}
	if rest == "" {
		return "", 0, fmt.Errorf("a text has no closing %c", quote)
	}
	return value.String(), len(text) - len(rest) + 1, nil
}
