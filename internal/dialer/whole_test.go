package dialer

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// TestWhole: an answer keeps its body, and one that ends early or is too large is an error.
func TestWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		body io.Reader
		good bool
	}{
		"empty":      {strings.NewReader(""), true},
		"at most":    {strings.NewReader("12345"), true},
		"too large":  {strings.NewReader("123456"), false},
		"ends early": {io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF)), false},
	} {
		t.Run(name, func(t *testing.T) {
			resp := &http.Response{Body: io.NopCloser(tc.body)}
			body, err := Whole(resp, 5)
			if (err == nil) != tc.good {
				t.Fatalf("got %q, %v", body, err)
			}
			if _, is := errors.AsType[TooLargeError](err); is != (name == "too large") {
				t.Errorf("got %v", err)
			}
			if tc.good {
				if again, err := io.ReadAll(resp.Body); err != nil || string(again) != string(body) || resp.ContentLength != int64(len(body)) {
					t.Errorf("got %q again, %v, of length %d; want %q", again, err, resp.ContentLength, body)
				}
			}
		})
	}
}
