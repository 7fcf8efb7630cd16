package kube

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Refusal returns why the API server refuses a request, with who refuses it, in words that can be
// shown to everybody: values that it quotes, which may be secret, are left out.
func Refusal(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err.Error()
	}
	details := status.Status().Details
	if details == nil || authored(details.Causes) {
		return status.Status().Message
	}
	words := make([]string, 0, len(details.Causes))
	for _, cause := range details.Causes {
		words = append(words, withoutValue(cause, details.Group == v1alpha1.GroupVersion.Group))
	}
	return deniedBy(status.Status().Message) + subject(details) + "is invalid: " + strings.Join(words, "; ")
}

// authored reports whether no cause is about a field: the message is then in the words of the
// author of a quota, a policy or a webhook.
func authored(causes []metav1.StatusCause) bool {
	for _, cause := range causes {
		if cause.Field != "" || cause.Type != "" && cause.Type != metav1.CauseTypeUnexpectedServerResponse {
			return false
		}
	}
	return true
}

// deniedBy returns the beginning of a message that names the webhook which refuses; empty if none
// does.
func deniedBy(message string) string {
	const before, after = "admission webhook ", " denied the request: "
	rest, found := strings.CutPrefix(message, before)
	if !found {
		return ""
	}
	name, err := strconv.QuotedPrefix(rest)
	if err != nil || !strings.HasPrefix(rest[len(name):], after) {
		return ""
	}
	return before + name + after
}

// subject names what was written, if that is known.
func subject(details *metav1.StatusDetails) string {
	if details.Kind == "" {
		return ""
	}
	return details.Kind + " " + strconv.Quote(details.Name) + " "
}

// Types of causes by what their messages hold: a value before the detail, or none. What is in
// neither, as an internal error, is shown by its type alone.
var (
	quoting = map[field.ErrorType]bool{
		field.ErrorTypeInvalid: true, field.ErrorTypeTypeInvalid: true, field.ErrorTypeNotSupported: true,
		field.ErrorTypeNotFound: true, field.ErrorTypeDuplicate: true, field.ErrorTypeTooMany: true, field.ErrorTypeTooFew: true,
	}
	silent = map[field.ErrorType]bool{
		field.ErrorTypeRequired: true, field.ErrorTypeForbidden: true, field.ErrorTypeTooLong: true, field.ErrorTypeTooShort: true,
	}
)

// withoutValue returns what a cause says without the value that it quotes: the field, the type, and
// the detail if it is certain where that begins and that it does not quote the value again. Of an
// object of ours a value is always JSON, so that what is not is the detail: the API server leaves
// the value out where a rule of the CRD speaks.
func withoutValue(cause metav1.StatusCause, ours bool) string {
	kind := field.ErrorType(cause.Type)
	words := "refused"
	if quoting[kind] || silent[kind] || kind == field.ErrorTypeInternal {
		words = strings.ToLower(kind.String())
	}
	if cause.Field != "" {
		words = cause.Field + ": " + words
	}
	rest, found := strings.CutPrefix(cause.Message, kind.String()+": ")
	switch {
	case found && silent[kind]:
		return words + ": " + rest
	case found && quoting[kind]:
		if _, length := leadingValue(rest); ours && length == 0 {
			return words + ": " + rest
		}
		if detail := behindValue(rest); detail != "" {
			return words + ": " + detail
		}
	}
	return words
}

// behindValue returns what follows a value, as field.Error writes it, and a colon. It is empty if
// nothing does, if nobody can tell where the value ends, or if the value is in it.
func behindValue(text string) string {
	value, length := leadingValue(text)
	detail, found := strings.CutPrefix(text[length:], ": ")
	if !found || length == 0 || tells(detail, value) {
		return ""
	}
	return detail
}

// leadingValue returns the value at the beginning of a text, written as Go or JSON does, and the
// length of that; 0 if there is none.
func leadingValue(text string) (value any, length int) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, 0
		}
		plain, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, 0
		}
		return plain, len(quoted)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, 0
	}
	return value, int(decoder.InputOffset())
}

// tells reports whether a text has one of the texts of a value in it, as a word.
func tells(text string, value any) bool {
	switch v := value.(type) {
	case string:
		return hasWord(text, v)
	case []any:
		for _, item := range v {
			if tells(text, item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if tells(text, item) {
				return true
			}
		}
	}
	return false
}

// hasWord reports whether a word is in a text, with neither a letter nor a digit next to it.
func hasWord(text, word string) bool {
	for at := 0; word != "" && at < len(text); at++ {
		found := strings.Index(text[at:], word)
		if found < 0 {
			return false
		}
		at += found
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !isOfWord(before) && !isOfWord(after) {
			return true
		}
	}
	return false
}

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
