package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
`

const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web, port: {name: http}}}
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

// serving is the Deployment with a port that the Service sends requests to.
const serving = deployment + "        ports: [{name: http, containerPort: 8080}]\n"

// TestTargetPorts: a port that a route refers to has a targetPort that the new pods have.
func TestTargetPorts(t *testing.T) {
	t.Parallel()
	const at = "release.yaml:15:9: warning: spec.strategy.traffic.routes[0].service: Service shop/web in service.yaml:1: port 80 has targetPort http, " +
		"and no container of Deployment web has a TCP port of that name"
	sidecar := func(policy string) string {
		return deployment + "      initContainers: [{name: proxy, image: proxy:1" + policy + ", ports: [{name: http, containerPort: 8080}]}]\n"
	}
	for name, tt := range map[string]struct {
		reason, deployment, service string
		want                        []string
	}{
		"Named":           {"a container has it", serving, service, nil},
		"Number":          {"a number needs no port of a container", deployment, strings.Replace(service, "targetPort: http", "targetPort: 8080", 1), nil},
		"None":            {"it is the port itself", deployment, strings.Replace(service, ", targetPort: http", "", 1), nil},
		"NoPort":          {"requests would find no pod", deployment, service, []string{at + ": none of its ports has a name"}},
		"AnotherPort":     {"requests would find no pod", strings.Replace(serving, "name: http,", "name: web,", 1), service, []string{at + ", but web"}},
		"AnotherProtocol": {"names are those of a protocol", strings.Replace(serving, "name: http,", "name: http, protocol: UDP,", 1), service, []string{at + ": none of its ports has a name"}},
		"Sidecar":         {"it goes on beside the others", sidecar(", restartPolicy: Always"), service, nil},
		"InitContainer":   {"it has ended when requests come", sidecar(""), service, []string{at + ": none of its ports has a name"}},
		"NotOfTheRoute":   {"no request of the route goes there", serving, strings.Replace(service, "http}]", "http}, {name: m, port: 9, targetPort: metrics}]", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"release.yaml": routed, "deployment.yaml": tt.deployment, "route.yaml": httpRoute, "service.yaml": tt.service}
			if diff := cmp.Diff(tt.want, findings(check(t, files))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestServices: a Service of the repository that a release names selects the workload's pods, and
// has the ports that the route refers to. One that is not in the repository may be anything.
func TestServices(t *testing.T) {
	t.Parallel()
	edit := strings.NewReplacer
	const (
		on    = "release.yaml:15:9: error: spec.strategy.traffic.routes[0].service: "
		ports = "release.yaml:13:9: error: spec.strategy.traffic.routes[0]: HTTPRoute shop/web in route.yaml:1: spec.rules[0].backendRefs[0].port: Service shop/web in service.yaml:1 "
	)
	onIngress := edit("kind: HTTPRoute", "kind: Ingress").Replace(routed)
	cases := map[string]struct {
		reason                  string
		release, route, service string
		want                    []string
	}{
		"Good":             {"nothing is said of what is right", routed, httpRoute, service, nil},
		"Elsewhere":        {"a Service may be in another repository", routed, httpRoute, "", nil},
		"AnotherNamespace": {"that is another one", routed, httpRoute, edit("name: web", "name: web, namespace: edge", "app: web", "app: api").Replace(service), nil},
		"AnotherGroup":     {"that is no Service", routed, httpRoute, edit("v1", "serving.knative.dev/v1", "app: web", "app: api").Replace(service), nil},
		"TwoOverlays":      {"nobody knows which of two is meant", routed, httpRoute, service + "---\n" + edit("app: web", "app: api").Replace(service), nil},
		"NoService":        {"what is none is the API server's to refuse", routed, httpRoute, edit("{app: web}", "[app]").Replace(service), nil},
		"OtherPods": {
			"it would send requests to pods of something else", routed, httpRoute, edit("app: web", "app: api").Replace(service),
			[]string{on + "Service shop/web in service.yaml:1: the Service does not select the pods of Deployment web"},
		},
		"MoreLabels": {
			"all labels must be the pods'", routed, httpRoute, edit("app: web", "app: web, tier: front").Replace(service),
			[]string{on + "Service shop/web in service.yaml:1: the Service does not select the pods of Deployment web"},
		},
		"NoSelector": {
			"somebody else writes its endpoints", routed, httpRoute, edit("selector: {app: web}", "sessionAffinity: None").Replace(service),
			[]string{on + "Service shop/web in service.yaml:1: the Service selects no pods: spec.selector is empty"},
		},
		"ExternalName": {
			"it is a name of DNS", routed, httpRoute, edit("selector:", "type: ExternalName\n  externalName: example.org\n  selector:").Replace(service),
			[]string{on + "Service shop/web in service.yaml:1: the Service selects no pods: spec.type is ExternalName"},
		},
		"NamedTwice": {
			"it is told once", strings.Replace(routed, "service: web\n", "service: web\n      - {kind: GRPCRoute, name: web, service: web}\n", 1), httpRoute,
			edit("app: web", "app: api").Replace(service),
			[]string{on + "Service shop/web in service.yaml:1: the Service does not select the pods of Deployment web"},
		},
		"OtherPort": {"nobody would answer", routed, httpRoute, edit("port: 80", "port: 8080").Replace(service), []string{ports + "has no port 80, but 8080"}},
		"OtherPorts": {
			"nobody would answer", routed, httpRoute, edit("[{port: 80, targetPort: http}]", "[{port: 8080, name: http}, {port: 443, name: https}]").Replace(service),
			[]string{ports + "has no port 80, but 8080 http and 443 https"},
		},
		"NoPorts": {"a headless one may have none", routed, httpRoute, edit("  ports: [{port: 80, targetPort: http}]\n", "").Replace(service), []string{ports + "has no port 80: spec.ports is empty"}},
		"PortOfAnother": {
			"the port is that of another Service", routed,
			edit("[{name: web, port: 80}]", "[{name: web, port: 80}, {name: api, port: 81}, {name: web, namespace: edge, port: 82}]").Replace(httpRoute), service, nil,
		},
		"Ingress": {"by name and by number", onIngress, ingress, edit("port: 80", "name: http, port: 80").Replace(service), nil},
		"IngressOfOtherPorts": {
			"nobody would answer", onIngress, ingress, edit("port: 80", "name: web, port: 81").Replace(service),
			[]string{
				"release.yaml:13:9: error: spec.strategy.traffic.routes[0]: Ingress shop/web in route.yaml:1: spec.defaultBackend.service.port: " +
					"Service shop/web in service.yaml:1 has no port http, but 81 web",
				"release.yaml:13:9: error: spec.strategy.traffic.routes[0]: Ingress shop/web in route.yaml:1: spec.rules[0].http.paths[0].backend.service.port: " +
					"Service shop/web in service.yaml:1 has no port 80, but 81 web",
			},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"release.yaml": tt.release, "deployment.yaml": serving, "route.yaml": tt.route}
			if tt.service != "" {
				files["service.yaml"] = tt.service
			}
			if diff := cmp.Diff(tt.want, findings(check(t, files))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
