package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxJSON is the size of a JSON answer. Each byte of one may take tens in memory.
const maxJSON = 64 << 10

// bytesOfSeries is the size of a JSON answer that takes as much memory as a series.
const bytesOfSeries = 64

// JSON returns what the server answers at a path with a query, below its address.
func (s *Server) JSON(ctx context.Context, path string, query url.Values) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	address := s.address.JoinPath(path)
	if leadsOut(address.Path) || leadsOut(path) {
		return Answer{}, failed(BadQuery, "the path leads out of the address of the server: remove ..")
	}
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return Answer{}, failed(Misconfigured, "the path can't be requested: %s", s.words(err.Error()))
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return Answer{}, s.explain(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxJSON+1))
	switch {
	case err != nil:
		return Answer{}, s.explain(ctx, err)
	case resp.StatusCode/100 == 4:
		return Answer{}, failed(BadQuery, "%s answers %s: %s", s.address.Host, resp.Status, s.words(string(body)))
	case resp.StatusCode != http.StatusOK:
		return Answer{}, failed(Unreachable, "%s answers %s: %s", s.address.Host, resp.Status, s.words(string(body)))
	case len(body) > maxJSON:
		return Answer{}, failed(BadAnswer, "the answer is larger than %d KiB", maxJSON>>10)
	}
	var value any
	if err := json.Unmarshal(s.hide(body), &value); err != nil {
		return Answer{}, failed(BadAnswer, "%s does not answer in JSON: %s", s.address.Host, s.words(err.Error()))
	}
	return Answer{JSON: value, size: len(body)/bytesOfSeries + 1}, nil
}

// leastHidden is the length of what is hidden in an answer: shorter words are of the answer itself.
const leastHidden = 12

// hide returns an answer without credentials: who chooses the path may find one that repeats them,
// and people read a part of each answer.
func (s *Server) hide(body []byte) []byte {
	for _, secret := range s.secrets() {
		if len(secret) >= leastHidden {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("[hidden]"))
		}
	}
	return body
}

// leadsOut reports whether a path has a part "..", as any server may read it: some take a backslash
// for a slash, end a part at a semicolon, or decode it twice.
func leadsOut(path string) bool {
	for range 3 {
		parts := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`/\;`, r) })
		if slices.Contains(parts, "..") {
			return true
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			return false
		}
		path = decoded
	}
	return true // who encodes so often hides something
}
