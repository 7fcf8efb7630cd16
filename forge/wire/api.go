package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluice-dev/sluice/forge"
)

// API sends requests below one address, and reads answers in JSON.
type API struct {
	// Base is the root of the API. It ends in a slash.
	Base *url.URL
	Wire *Wire
	// Header is sent with each request. Optional.
	Header  http.Header
	Secrets Scrubber
	// Total names the header that has the number of items of a list.
	Total string
	// PerPage is the parameter for the size of a page.
	PerPage string
}

const (
	pageSize = 50
	// maxPages limits the pages of a list, the longest of which has the files of a pull request.
	maxPages = 60
	// maxList limits the bytes of all pages of a list.
	maxList = 16 << 20
)

// Get reads something. Path is below Base, and its parts are escaped.
func (a *API) Get(ctx context.Context, path string, query url.Values, into any) error {
	_, err := a.do(ctx, call{method: http.MethodGet, path: path, query: query}, into)
	return err
}

// Send writes something. The answer is read into a value, unless that is nil.
func (a *API) Send(ctx context.Context, method, path string, body, into any) error {
	_, err := a.do(ctx, call{method: method, path: path, body: body}, into)
	return err
}

// answered holds what an answer says beside its value.
type answered struct {
	header http.Header
	size   int64
}

// call is a request below the root of an API.
type call struct {
	method, path string
	query        url.Values
	body         any
}

func (a *API) do(ctx context.Context, c call, into any) (answered, error) {
	at, err := a.Base.Parse(c.path)
	if err != nil {
		return answered{}, Invalid("%q is not a path", c.path)
	}
	at.RawQuery = c.query.Encode()
	var sent io.Reader
	if c.body != nil {
		encoded, err := json.Marshal(c.body)
		if err != nil {
			return answered{}, fmt.Errorf("encode request: %w", err)
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, at.String(), sent)
	if err != nil {
		return answered{}, fmt.Errorf("make request: %w", err)
	}
	maps.Copy(request.Header, a.Header)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", UserAgent)
	if sent != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.Wire.HTTP().Do(request)
	if err != nil {
		return answered{}, a.typed(err)
	}
	defer response.Body.Close()
	return a.read(response, into)
}

// read reads an answer that is whole, or the error that it is.
func (a *API) read(response *http.Response, into any) (answered, error) {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answered{}, a.typed(err)
	}
	if code := response.StatusCode; code < http.StatusOK || code >= http.StatusMultipleChoices {
		return answered{}, &forge.Error{Kind: KindOf(code), Message: a.Secrets.Clean(fmt.Sprintf("%d %s", code, wording(content)))}
	}
	if into == nil || response.StatusCode == http.StatusNoContent {
		return answered{header: response.Header}, nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return answered{}, Distrusted("the answer can't be read: %v", err)
	}
	return answered{header: response.Header, size: int64(len(content))}, nil
}

// wording returns what a forge says about its refusal.
func wording(content []byte) string {
	var refusal struct {
		Message any    `json:"message"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(content, &refusal) != nil {
		return ""
	}
	if text, is := refusal.Message.(string); is {
		return text
	}
	if refusal.Message != nil {
		return fmt.Sprint(refusal.Message)
	}
	return refusal.Error
}

func (a *API) typed(err error) error {
	for _, own := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return own
		}
	}
	return a.Secrets.Typed(err)
}

// Explain says what was tried, and gives an error its kind. After one that may go away by itself no
// answer is remembered. It returns nil for nil.
func (a *API) Explain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	known := a.typed(err)
	if forge.KindOf(known) == forge.Transient {
		a.Wire.Forget()
	}
	return fmt.Errorf("%s: %w", a.Secrets.Clean(fmt.Sprintf(format, args...)), known)
}

// Walk shows a list page by page, until one is enough or the list ends. It fails if the list has
// not the items that the forge says it has.
func Walk[T any](ctx context.Context, a *API, path string, query url.Values, enough func([]T) bool) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set(a.PerPage, strconv.Itoa(pageSize))
	size, seen := int64(0), 0
	for page := 1; page <= maxPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var some []T
		answer, err := a.do(ctx, call{method: http.MethodGet, path: path, query: query}, &some)
		if err != nil {
			return err
		}
		if size += answer.size; size > maxList {
			return Invalid("the list is larger than %d bytes", maxList)
		}
		if seen += len(some); seen > maxPages*pageSize {
			return Invalid("the list has more than %d items", maxPages*pageSize)
		}
		total, err := strconv.Atoi(answer.header.Get(a.Total))
		told := err == nil && total >= 0
		// A server may give smaller pages than it was asked for, so that the count tells the end.
		switch ended := len(some) == 0 || told && seen >= total || !told && len(some) < pageSize; {
		case enough(some):
			return nil
		case ended && told && seen != total:
			return Distrusted("the list has %d items, and not the %d that it should have", seen, total)
		case ended:
			return nil
		}
	}
	return Invalid("the list has more than %d pages", maxPages)
}

// List reads a list whole, or fails.
func List[T any](ctx context.Context, a *API, path string, query url.Values) ([]T, error) {
	var items []T
	err := Walk(ctx, a, path, query, func(some []T) bool {
		items = append(items, some...)
		return false
	})
	return items, err
}
