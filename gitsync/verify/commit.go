package verify

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the names of Git's objects
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Commit is a commit object.
type Commit struct {
	// Name is its object name, 40 hex digits.
	Name string
	// Raw is its content as Git has it.
	Raw []byte
}

// Limits of what is read.
const (
	maxCommit    = 256 << 10
	maxSignature = 16 << 10
)

// parsed is a commit taken apart.
type parsed struct {
	// payload is the commit without the header that holds the signature.
	payload   []byte
	signature string
	committed time.Time
}

// The headers that each commit has first, in this order; those below may follow.
var (
	tree      = regexp.MustCompile(`^tree [0-9a-f]{40}$`)
	parent    = regexp.MustCompile(`^parent [0-9a-f]{40}$`)
	author    = regexp.MustCompile(`^author .*$`)
	committer = regexp.MustCompile(`^committer [^<>]*<[^<>]*> ([0-9]{1,18}) [+-][0-9]{4,7}$`)
)

// parse takes a commit apart. It refuses commits that Git, or another reader, might read in another
// way: headers that are missing, repeated or out of order, and bytes that end a text in C.
func parse(c Commit) (parsed, error) {
	if len(c.Raw) > maxCommit {
		return parsed{}, fmt.Errorf("it has %d bytes; the limit is %d", len(c.Raw), maxCommit)
	}
	if NameOf(c.Raw) != c.Name {
		return parsed{}, errors.New("its content does not have its name")
	}
	header, message, ended := bytes.Cut(c.Raw, []byte("\n\n"))
	if !ended || bytes.IndexByte(c.Raw, 0) >= 0 {
		return parsed{}, errors.New("it is malformed: the end of its headers is missing, or it has a zero byte")
	}
	lines := strings.SplitAfter(string(header)+"\n", "\n")
	lines = lines[:len(lines)-1]
	first, committed, err := firstLines(lines)
	if err != nil {
		return parsed{}, err
	}
	signed, signature, err := split(lines[first:])
	if err != nil {
		return parsed{}, err
	}
	payload := strings.Join(lines[:first], "") + signed + "\n" + string(message)
	return parsed{payload: []byte(payload), signature: signature, committed: committed}, nil
}

// NameOf returns the object name of a commit with that content.
func NameOf(raw []byte) string {
	h := sha1.New() //nolint:gosec // as Git has it
	fmt.Fprintf(h, "commit %d\x00", len(raw))
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}

// firstLines returns the number of lines from the tree to the committer, and the committer's time.
func firstLines(lines []string) (int, time.Time, error) {
	at := 0
	next := func(want *regexp.Regexp) []string {
		if at >= len(lines) {
			return nil
		}
		match := want.FindStringSubmatch(strings.TrimSuffix(lines[at], "\n"))
		if match != nil {
			at++
		}
		return match
	}
	hasTree := next(tree) != nil
	for next(parent) != nil { // next counts them
	}
	hasAuthor, by := next(author) != nil, next(committer)
	if !hasTree || !hasAuthor || by == nil {
		return 0, time.Time{}, errors.New("it is malformed: want the headers tree, parent, author and committer, in this order")
	}
	seconds, err := strconv.ParseInt(by[1], 10, 64)
	return at, time.Unix(seconds, 0), err
}

// split parts the headers after the committer into those that are signed, and the signature.
func split(lines []string) (signed, signature string, err error) {
	var rest, value strings.Builder
	inSignature := false
	for _, line := range lines {
		key, text, _ := strings.Cut(line, " ")
		key = strings.TrimSuffix(key, "\n")
		switch {
		case key == "" && inSignature:
			value.WriteString(text)
			continue
		case key == "":
		case key == "gpgsig" && value.Len() == 0:
			inSignature = true
			value.WriteString(text)
			continue
		case strings.HasPrefix(key, "gpgsig"):
			return "", "", errors.New("it has several signatures, or one over SHA-256 names: want one header gpgsig")
		case isFirst(key):
			return "", "", fmt.Errorf("it is malformed: it has the header %s twice", key)
		default:
			inSignature = false
		}
		rest.WriteString(line)
	}
	if value.Len() > maxSignature {
		return "", "", fmt.Errorf("its signature has %d bytes; the limit is %d", value.Len(), maxSignature)
	}
	return rest.String(), value.String(), nil
}

func isFirst(key string) bool {
	return key == "tree" || key == "parent" || key == "author" || key == "committer"
}
