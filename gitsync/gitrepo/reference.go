package gitrepo

import (
	"net/mail"
	"regexp"
	"strings"
	"time"

	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// Reference is the commit that another one was made from, in whatever repository. Anybody who can
// write the other one can claim it.
type Reference struct {
	Commit, Author, Subject string
	Time                    time.Time
}

// trailerPrefix begins the trailers, as the source hydrator of Argo CD has them.
const trailerPrefix = "argocd-reference-commit-"

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{5,64}$`)

// referenceOf returns the commit that the trailers of a message name; nil if they name none. Of a
// trailer that is there several times, the last one counts.
func referenceOf(message string, encoding gitobject.MessageEncoding) *Reference {
	trailers := map[string]string{}
	for line := range strings.Lines(lastParagraph(message)) {
		key, value, _ := strings.Cut(line, ":")
		if name, is := strings.CutPrefix(strings.ToLower(key), trailerPrefix); is {
			trailers[name] = firstLine(inUTF8(value, encoding))
		}
	}
	commit := strings.ToLower(trailers["sha"])
	if !hexadecimal.MatchString(commit) {
		return nil
	}
	made := &Reference{Commit: commit, Subject: trailers["subject"]}
	if author, err := mail.ParseAddress(trailers["author"]); err == nil {
		made.Author = author.Name
	}
	if at, err := time.Parse(time.RFC3339, trailers["date"]); err == nil {
		made.Time = at
	}
	return made
}

// lastParagraph returns the part of a message that has its trailers.
func lastParagraph(message string) string {
	text := strings.TrimSpace(message[max(0, len(message)-maxLineBytes):])
	if at := strings.LastIndex(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n"); at >= 0 {
		return strings.ReplaceAll(text, "\r\n", "\n")[at:]
	}
	return ""
}
