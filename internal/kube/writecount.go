package kube

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/transport"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// Writes counts the writes of clients that reached the API server or failed on the way, dry runs
// aside.
type Writes struct{ counts *prometheus.CounterVec }

// NewWrites makes Writes and registers it.
func NewWrites(registry prometheus.Registerer) *Writes {
	w := &Writes{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_writes_total",
		Help: "Writes to the API server by kind, verb and result, without events, Leases and dry runs.",
	}, []string{"kind", "verb", "result"})}
	registry.MustRegister(w.counts)
	for kind, verbs := range written {
		for _, verb := range verbs {
			for _, result := range []string{resultWritten, resultOutdated, resultGone, resultRefused, resultFailed} {
				w.counts.WithLabelValues(kind, verb, result)
			}
		}
	}
	return w
}

// The results are the names of the Outcomes, as far as the code of the answer tells them apart.
const (
	resultWritten  = "Written"
	resultOutdated = "Outdated"
	resultGone     = "Gone"
	resultRefused  = "Refused"
	resultFailed   = "Failed"
)

// The verbs.
const (
	create = "create"
	update = "update"
	patchV = "patch"
	remove = "delete"
)

// written holds the verbs of each kind that Sluice writes.
var written = withWorkloads(map[string][]string{
	"BatchRelease":         {create, patchV, remove},
	"BatchRelease/status":  {patchV},
	"ReleaseSource":        {patchV},
	"ReleaseSource/status": {patchV},
	"Gate":                 {create, patchV, remove},
	"Gate/status":          {patchV},
	"ReplicaSet":           {create, patchV},
	"ControllerRevision":   {create, patchV, remove},
	"Pod":                  {patchV, remove},
	"Service":              {create, patchV, remove},
	"Ingress":              {create, patchV, remove},
	"HTTPRoute":            {patchV},
	"GRPCRoute":            {patchV},
})

// withWorkloads adds every kind of workload.
func withWorkloads(verbs map[string][]string) map[string][]string {
	for _, kind := range kinds.Names() {
		verbs[kind] = []string{create, patchV}
	}
	return verbs
}

// kindsOf has each kind by its resource in paths.
var kindsOf = func() map[string]string {
	byResource := map[string]string{}
	for kind := range written {
		name, status, _ := strings.Cut(kind, "/")
		resource := strings.ToLower(name) + "s"
		if strings.HasSuffix(resource, "ss") {
			resource = strings.ToLower(name) + "es"
		}
		if status != "" {
			resource += "/" + status
		}
		byResource[resource] = kind
	}
	return byResource
}()

// otherKind stands for what is not in written, so that the series have an end.
const otherKind = "Other"

// Count has a client's writes counted.
func (w *Writes) Count() transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return &counting{next, w} }
}

type counting struct {
	next   http.RoundTripper
	writes *Writes
}

// RoundTrip sends a request.
func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(req)
	verb := verbOf(req.Method)
	if verb == "" || req.URL.Query().Has("dryRun") {
		return answer, err
	}
	if kind := kindOf(req.URL.Path); kind != "" {
		code := 0
		if err == nil {
			code = answer.StatusCode
		}
		c.writes.counts.WithLabelValues(kind, verb, resultOf(code)).Inc()
	}
	return answer, err
}

// WrappedRoundTripper returns what client-go looks for beneath.
func (c *counting) WrappedRoundTripper() http.RoundTripper { return c.next }

func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return create
	case http.MethodPut:
		return update
	case http.MethodPatch:
		return patchV
	case http.MethodDelete:
		return remove
	default:
		return ""
	}
}

// kindOf returns the kind that a path is of; empty for what is not counted: events and Leases,
// which every controller writes, and reviews, which are questions.
func kindOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch { // api/VERSION or apis/GROUP/VERSION
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		if strings.HasSuffix(parts[1], "events.k8s.io") || strings.HasPrefix(parts[1], "authorization.") || strings.HasPrefix(parts[1], "authentication.") {
			return ""
		}
		parts = parts[3:]
	default:
		return otherKind
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource := parts[0]
	switch resource {
	case "events", "leases":
		return ""
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	if kind, known := kindsOf[resource]; known {
		return kind
	}
	return otherKind
}

// resultOf returns the Outcome that an answer with a code comes to; 0 stands for no answer.
func resultOf(code int) string {
	switch {
	case code >= http.StatusOK && code < http.StatusMultipleChoices:
		return resultWritten
	case code == http.StatusNotFound:
		return resultGone
	case code == http.StatusConflict:
		return resultOutdated
	case code == http.StatusUnauthorized, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return resultFailed
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError:
		return resultRefused
	default:
		return resultFailed
	}
}
