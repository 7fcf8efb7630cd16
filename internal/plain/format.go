package plain

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is the output format of a command.
type Format string

// The formats. No command has all of them.
const (
	// Text is for a terminal.
	Text Format = "text"
	// JSON is one object.
	JSON Format = "json"
	// Markdown is for a comment on a pull request.
	Markdown Format = "markdown"
	// GitHub are workflow commands, which GitHub Actions shows next to the lines of a pull request.
	GitHub Format = "github"
)

// Check returns an error that lists the formats, if this is none of them.
func (f Format) Check(formats []Format) error {
	if slices.Contains(formats, f) {
		return nil
	}
	names := make([]string, 0, len(formats))
	for _, known := range formats {
		names = append(names, string(known))
	}
	return fmt.Errorf("%q is not one of %s", string(f), strings.Join(names, ", "))
}

// Write writes a value as JSON, or in one of the formats of which each has its text.
func Write(to io.Writer, format Format, value any, texts map[Format]func() string) error {
	if format == JSON {
		return WriteJSON(to, value)
	}
	text, known := texts[format]
	if !known {
		return fmt.Errorf("there is no format %q", string(format))
	}
	_, err := io.WriteString(to, text())
	return err
}
