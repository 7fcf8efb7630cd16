package forgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// apiPrefix is where GitHub Enterprise Server, and the forge, has the API.
const apiPrefix = "/api/v3"

// Checker holds answers and webhooks to GitHub's description.
type Checker struct {
	doc *document

	mu       sync.Mutex
	breaches []string
	checked  int
}

// loadDocument reads the description once for all checkers of a process.
var loadDocument = sync.OnceValues(func() (*document, error) {
	data, err := openAPIPackage.Read(context.Background())
	if err != nil {
		return nil, err
	}
	return parseDocument(data)
})

// NewChecker returns a checker that has seen nothing. The first one of a process loads the
// description.
func NewChecker() (*Checker, error) {
	doc, err := loadDocument()
	if err != nil {
		return nil, err
	}
	return &Checker{doc: doc}, nil
}

// Breaches returns what has not been as described so far, one text each.
func (c *Checker) Breaches() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.breaches...)
}

// Checked returns how many answers and webhooks were held to the description so far.
func (c *Checker) Checked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checked
}

// Middleware looks at the answers of the REST API below /api/v3/ as they go by.
func (c *Checker) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, apiPrefix+"/") {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if described(answer.Header()) {
			c.note(c.CheckAnswer(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), apiPrefix), answer.Code, answer.Body.Bytes()))
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		io.WriteString(w, answer.Body.String())
	})
}

// described reports whether an answer should be JSON: files as they are have no description.
func described(header http.Header) bool {
	return !strings.HasPrefix(header.Get("Content-Type"), "application/vnd.github.raw")
}

func (c *Checker) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked++
	if err != nil {
		c.breaches = append(c.breaches, err.Error())
	}
}

// CheckAnswer holds one answer to the description. The path is below the root of the API.
func (c *Checker) CheckAnswer(method, path string, status int, body []byte) error {
	schema, err := c.answerSchema(method, path, status)
	if err == nil {
		err = check(schema, body)
	}
	if err != nil {
		return fmt.Errorf("%s %s: status %d: %w", method, path, status, err)
	}
	return nil
}

// answerSchema returns nil for answers without a body. Errors that every operation may answer with
// are described once.
func (c *Checker) answerSchema(method, path string, status int) (*spec.Schema, error) {
	pointer, operation := c.doc.operation(method, path)
	if operation == nil && status < http.StatusBadRequest {
		return nil, fmt.Errorf("GitHub has no such operation")
	}
	responses, _ := operation["responses"].(map[string]any)
	response, described := responses[strconv.Itoa(status)].(map[string]any)
	switch {
	case !described && status >= http.StatusBadRequest:
		return c.doc.schemaAt("components", "schemas", "basic-error")
	case !described && status == http.StatusNotModified:
		return nil, nil
	case !described:
		return nil, fmt.Errorf("GitHub does not answer so")
	}
	pointer = append(pointer, "responses", strconv.Itoa(status))
	if ref, ok := response["$ref"].(string); ok {
		pointer = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		response = c.doc.component(pointer)
	}
	if content, ok := response["content"].(map[string]any); !ok || content["application/json"] == nil {
		return nil, nil
	}
	return c.doc.schemaAt(append(pointer, "content", "application/json", "schema")...)
}

// component returns what a reference within the description leads to.
func (d *document) component(pointer []string) map[string]any {
	at := d.root
	for _, part := range pointer {
		at, _ = at[part].(map[string]any)
	}
	return at
}

// CheckWebhook holds a payload to the description of its event.
func (c *Checker) CheckWebhook(event, action string, payload []byte) error {
	name := strings.ReplaceAll(event, "_", "-")
	if action != "" {
		name += "-" + strings.ReplaceAll(action, "_", "-")
	}
	if c.doc.webhooks[name] == nil {
		return fmt.Errorf("webhook %s: GitHub has no such event", name)
	}
	schema, err := c.doc.schemaAt("x-webhooks", name, "post", "requestBody", "content", "application/json", "schema")
	if err == nil {
		err = check(schema, payload)
	}
	if err != nil {
		return fmt.Errorf("webhook %s: %w", name, err)
	}
	return nil
}

// formats are those of the library, less "uri", of which it takes paths, too.
var formats = sync.OnceValue(func() strfmt.Registry {
	formats := strfmt.NewFormats()
	uri := strfmt.URI("")
	formats.Add("uri", &uri, func(text string) bool {
		parsed, err := url.Parse(text)
		return err == nil && parsed.IsAbs()
	})
	return formats
})

func check(schema *spec.Schema, body []byte) error {
	if schema == nil && len(body) == 0 {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("parse %q: %w", body, err)
	}
	if schema == nil {
		return nil // what is not described must be JSON all the same
	}
	if err := validate.AgainstSchema(schema, value, formats()); err != nil {
		return fmt.Errorf("%w\n%s", err, indent(body))
	}
	return nil
}

func indent(body []byte) string {
	var text bytes.Buffer
	if json.Indent(&text, body, "", "  ") != nil {
		return string(body)
	}
	return text.String()
}
