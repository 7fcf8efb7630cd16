package migrate

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// inPrometheus says what to do where only Prometheus and JSON can be asked.
const inPrometheus = "has no equal: Sluice asks Prometheus, and servers that answer GET requests in JSON. Bring the metric to Prometheus, or ask for it in a Job of a job gate"

// withoutEqual are the providers of Argo without an equal, with what to do.
var withoutEqual = map[string]string{
	"cloudWatch": inPrometheus,
	"datadog":    inPrometheus,
	"graphite":   inPrometheus + ". A MetricProvider with http can ask Graphite at /render with format=json",
	"influxdb":   inPrometheus,
	"job":        "has no equal among metrics: add a gate with job to the same step, with this spec as its template",
	"kayenta":    "has no equal: compare judges the new version against the old one by itself (docs/judge.md)",
	"newRelic":   inPrometheus,
	"plugin":     inPrometheus,
	"skywalking": inPrometheus,
	"wavefront":  inPrometheus,
}

// provider translates the server of a metric, and its query.
func (m *argoMetric) provider(query *v1alpha1.QueryMetric) (server, bool) {
	o := m.o.child("provider")
	if o == nil {
		m.o.report(LeftOut, "provider", "is missing: there is nothing to measure")
		return server{}, false
	}
	names := slices.DeleteFunc(o.names(), func(name string) bool { return o.fields[name] == nil })
	if len(names) != 1 {
		o.report(LeftOut, "", "must have exactly one server: correct it")
		return server{}, false
	}
	switch names[0] {
	case "prometheus":
		return m.prometheus(o.child("prometheus"), query)
	case "web":
		return m.web(o.child("web"), query)
	}
	o.report(LeftOut, names[0], cmp.Or(withoutEqual[names[0]], inPrometheus))
	return server{}, false
}

// prometheus translates a query to Prometheus.
func (m *argoMetric) prometheus(o *object, query *v1alpha1.QueryMetric) (server, bool) {
	if o == nil {
		return server{}, false
	}
	if o.has("rangeQuery") {
		o.report(LeftOut, "rangeQuery", "a gate asks for one moment. Write a subquery, such as max_over_time((…)[1h:1m]), and measure that")
		return server{}, false
	}
	s := server{namespace: m.namespace}
	var ok bool
	if s.address, ok = m.address(o, "address", cmp.Or(o.text("address"), m.options.Prometheus)); !ok {
		return server{}, false
	}
	m.connection(&s, o, "timeout")
	text, used, ok := m.inQuery(o, "query", o.text("query"), true)
	if ok && strings.TrimSpace(text) == "" {
		o.report(LeftOut, "query", "is empty: there is nothing to measure")
		ok = false
	}
	query.Query = strings.TrimSpace(text)
	m.use(used)
	if strings.Contains(strings.ReplaceAll(text, "-", "_"), "rollouts_pod_template_hash") {
		o.report(Changed, "query", "pods of a Deployment have the label pod-template-hash, and not that of a Rollout: rename the label")
	}
	o.noEqual()
	return s, ok
}

// address writes the address of a server, whose arguments get their values.
func (m *argoMetric) address(o *object, name, text string) (string, bool) {
	if text == "" {
		o.report(LeftOut, name, "there is no address. Give that of the server with --prometheus")
		return "", false
	}
	text, ok := m.fixed(o, name, text)
	if !ok {
		return "", false
	}
	if problem := checkAddress(text); problem != "" {
		o.report(LeftOut, name, problem)
		return "", false
	}
	return text, true
}

// connection translates how a server is reached.
func (m *argoMetric) connection(s *server, o *object, timeout string) {
	if text, ok := m.fixed(o, timeout, o.text(timeout)); ok && text != "" {
		s.timeout = o.duration(timeout, text+"s", time.Second, 30*time.Second)
	}
	if o.flag("insecure") {
		o.report(LeftOut, "insecure", "has no equal: add the certificate of the server's authority as ca.crt to the Secret of the MetricProvider")
	}
	for _, header := range o.list("headers") {
		m.header(s, header)
	}
	auth := o.child("authentication")
	if auth == nil {
		return
	}
	if basic := auth.child("basicAuth"); basic != nil {
		s.keep("username")
		s.keep("password")
		basic.skip("username", "password")
		auth.report(LeftOut, "basicAuth", "create a Secret with the name of the MetricProvider and the keys username and password"+m.sourceOf(basic.fields))
		basic.noEqual()
	}
	for _, name := range auth.names() {
		if !auth.read[name] && auth.fields[name] != nil {
			auth.skip(name)
			auth.report(LeftOut, name, "has no equal: put a proxy that signs requests before the server, and give its address")
		}
	}
}

// sourceOf names the Secrets that the arguments of some texts have their values from.
func (m *argoMetric) sourceOf(texts map[string]any) string {
	var from []string
	for _, value := range texts {
		text, _ := value.(string)
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			if a := m.argumentNamed(match[1]); a != nil && a.secret != "" && !slices.Contains(from, a.secret) {
				from = append(from, a.secret)
				a.used = true
			}
		}
	}
	if from == nil {
		return ""
	}
	slices.Sort(from)
	return ", out of " + strings.Join(from, " and ")
}

// headerName matches names of headers (RFC 9110) that a key of a Secret can have, too.
var headerName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// header translates a header. Values that may be secret go to a Secret.
func (m *argoMetric) header(s *server, o *object) {
	name, value := o.text("key"), o.text("value")
	o.noEqual()
	if !headerName.MatchString(name) {
		o.report(LeftOut, "key", "is not the name of a header: correct it")
		return
	}
	source := m.sourceOf(o.fields)
	if source != "" || isSecret(name) {
		key, how := "header."+name, ""
		if strings.EqualFold(name, "Authorization") && bearer.MatchString(value) {
			key, how = "bearerToken", ", without the word Bearer"
		}
		s.keep(key)
		o.report(LeftOut, "value", "create a Secret with the name of the MetricProvider and the key "+key+source+how)
		return
	}
	text, ok := m.fixed(o, "value", value)
	if ok {
		s.addHeader(o, name, text)
	}
}

// addHeader adds a header that is no secret.
func (s *server) addHeader(o *object, name, value string) {
	known := slices.ContainsFunc(s.headers, func(h v1alpha1.MetricHeader) bool { return strings.EqualFold(h.Name, name) })
	switch {
	case strings.ContainsAny(value, "\n\t") || len(value) > maxHeader:
		o.report(LeftOut, "value", "is not the value of a header: correct it")
	case known || len(s.headers) == maxHeaders:
		o.report(LeftOut, "", "a MetricProvider sends up to 10 headers, each once: remove it")
	default:
		s.headers = append(s.headers, v1alpha1.MetricHeader{Name: name, Value: value})
	}
}

// webURL splits a URL into the address of a server and what is below it.
var webURL = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)([^#]*)(#.*)?$`)

// web translates a request to a server that answers in JSON.
func (m *argoMetric) web(o *object, query *v1alpha1.QueryMetric) (server, bool) {
	if o == nil {
		return server{}, false
	}
	if method := o.text("method"); method != "" && method != "GET" {
		o.report(LeftOut, "method", "Sluice sends GET requests alone. Ask in a Job of a job gate")
		return server{}, false
	}
	text := o.text("url")
	if at := placeholder.FindStringIndex(text); at != nil && at[0] == 0 { // the server is in it
		start, ok := m.fixed(o, "url", text[:at[1]])
		if !ok {
			return server{}, false
		}
		text = start + text[at[1]:]
	}
	parts := webURL.FindStringSubmatch(text)
	if parts == nil {
		o.report(LeftOut, "url", "is not a URL whose server can be told from the path")
		return server{}, false
	}
	s := server{http: true, namespace: m.namespace}
	var ok bool
	if s.address, ok = m.address(o, "url", parts[1]); !ok {
		return server{}, false
	}
	below, used, ok := m.inQuery(o, "url", "/"+strings.TrimPrefix(parts[2], "/"), false)
	path, values, _ := strings.Cut(below, "?")
	if _, err := url.ParseQuery(values); err != nil || slices.Contains(strings.Split(path, "/"), "..") || strings.ContainsAny(below, " \n\t") || parts[3] != "" {
		o.report(LeftOut, "url", "Sluice can't request it. Remove spaces, .. and #, and escape the query")
		ok = false
	}
	query.Query = below
	m.use(used)
	m.connection(&s, o, "timeoutSeconds")
	if ok {
		ok = m.jsonPath(o)
	}
	o.noEqual()
	return s, ok
}

// jsonPath reads where in an answer the result is.
func (m *argoMetric) jsonPath(o *object) bool {
	text := o.text("jsonPath")
	if text == "" {
		o.report(Note, "", "only answers in JSON count: a plain text is an error")
		return o.fields["jsonPath"] == nil
	}
	path, is := pathOf(text)
	if !is {
		o.report(LeftOut, "jsonPath", "is not a plain path such as {$.data.ok}. Let the condition select the result, in CEL: "+
			plain.UpTo(plain.Line(text), maxShown))
		return false
	}
	m.path = path
	return true
}
