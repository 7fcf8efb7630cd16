package kube

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is why the API server refuses a request, with who refuses it, in words that can be shown to everybody:
// values that it quotes, which may be secret, are left out.
func Refusal(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err.Error()
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return status.Status().Message
	}
	var words []string
	for _, cause := range details.Causes {
		if cause.Field == "" { // a policy or a webhook, whose message is its author's
			return status.Status().Message
		}
		words = append(words, cause.Field+": "+withoutValue(cause))
	}
	return subject(details) + "is invalid: " + strings.Join(words, "; ")
}

// subject names what was written, if that is known.
func subject(details *metav1.StatusDetails) string {
	if details.Kind == "" {
		return ""
	}
	return details.Kind + " " + strconv.Quote(details.Name) + " "
}

// quoting begin the messages that quote a value (field.Error of apimachinery).
var quoting = []string{"Invalid value: ", "Unsupported value: ", "Duplicate value: ", "Not found: "}

// withoutValue is the message of a cause without the value that it quotes.
func withoutValue(cause metav1.StatusCause) string {
	for _, kind := range quoting {
		rest, found := strings.CutPrefix(cause.Message, kind)
		if !found {
			continue
		}
		kind = strings.ToLower(strings.TrimSuffix(kind, ": "))
		if after := behindValue(rest); after != "" {
			return kind + ": " + after
		}
		return kind
	}
	return cause.Message
}

// behindValue is what follows a value and a colon; empty if nothing does, or nobody can tell where the value ends.
func behindValue(text string) string {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		return strings.TrimPrefix(text[len(quoted):], ": ")
	}
	var value json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&value) != nil {
		return ""
	}
	return strings.TrimPrefix(text[decoder.InputOffset():], ": ")
}
