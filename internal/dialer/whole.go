package dialer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// TooLargeError is the error of an answer with more than Most bytes.
type TooLargeError struct{ Most int64 }

// Error says what is too large.
func (e TooLargeError) Error() string { return fmt.Sprintf("it is larger than %d bytes", e.Most) }

// Whole reads the body of an answer, and gives the answer its body back from memory. An answer that
// ends early is an error, and so is one with more than most bytes.
func Whole(resp *http.Response, most int64) ([]byte, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(body)) > most:
		return nil, TooLargeError{most}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return body, nil
}
