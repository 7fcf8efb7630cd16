package spec

import (
	"strings"
	"testing"
)

// TestHostileTraffic: a release from Git with routes, shares and matches that no cluster takes is
// refused at its place, in one line, and however many there are.
func TestHostileTraffic(t *testing.T) {
	t.Parallel()
	const of, step = "r.yaml:10: spec.strategy.traffic.routes[0]", "r.yaml:13: spec.strategy.steps[0]"
	share := func(share string) string { return withTraffic(route, "traffic: "+share) }
	header := func(header string) string { return withTraffic(route, "matches: [{headers: [{"+header+"}]}]") }
	for name, tt := range map[string]struct{ text, want string }{
		"a name of two lines":        {withTraffic(`{kind: HTTPRoute, name: "web\nsecret", service: web}`, "traffic: 5%"), of + `.name: Invalid value: "web\nsecret"`},
		"a name that steers":         {withTraffic(`{kind: HTTPRoute, name: "web\e[2J", service: web}`, "traffic: 5%"), of + ".name: Invalid value: "},
		"a Service of two lines":     {withTraffic(`{kind: HTTPRoute, name: web, service: "web\n"}`, "traffic: 5%"), of + `.service: Invalid value: "web\n"`},
		"letters that look the same": {withTraffic("{kind: HTTPRoutе, name: web, service: web}", "traffic: 5%"), of + ".kind: Unsupported value: "},
		"10,000 routes":              {withTraffic(manyRoutes(10_000), "traffic: 5%"), "r.yaml:"},
		"2,000 routes":               {withTraffic(manyRoutes(2_000), "traffic: 5%"), "r.yaml:10: spec.strategy.traffic.routes: Too many: 2000: must have at most 8 items"},
		"below nothing":              {share("-5%"), step + `.traffic: Invalid value: "-5%": must be a whole percentage from 0% to 100%`},
		"more than all":              {share("1000000000%"), step + `.traffic: Invalid value: "1000000000%": must be a whole percentage from 0% to 100%`},
		"beyond all numbers":         {share("99999999999999999999999%"), step + `.traffic: Invalid value: "99999999999999999999999%": must be a whole percentage`},
		"infinity":                   {share(".inf"), "r.yaml:"},
		"a percentage in words":      {share("５%"), step + `.traffic: Invalid value: "５%": must be a whole percentage`},
		"a delay beyond all numbers": {strings.Replace(share("5%"), "      routes:", "      drainSeconds: 4294967297\n      routes:", 1), "r.yaml:10: spec.strategy.traffic.drainSeconds: "},
		"a header of other letters":  {header("name: х-canary, value: a"), step + `.matches[0].headers[0].name: Invalid value: "х-canary"`},
		"a header that ends":         {header(`name: "a\r\nhost", value: a`), step + `.matches[0].headers[0].name: Invalid value: "a\r\nhost"`},
		"a value that ends":          {header(`name: a, value: "b\r\nhost: c"`), step + `.matches[0].headers[0].value: Invalid value: `},
		"an expression of megabytes": {header("name: a, type: RegularExpression, value: '" + strings.Repeat("(a*)*", 100_000) + "'"), step + ".matches[0].headers[0].value: Too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"r.yaml": tt.text})
			if len(result.Releases) > 0 || len(result.Errors) == 0 {
				t.Fatalf("want it refused, got %v", result.Releases)
			}
			found := false
			for _, problem := range result.Errors {
				found = found || strings.HasPrefix(problem.Error(), tt.want)
				if strings.ContainsAny(problem.Message, "\n\r\x1b") || len(problem.Message) > 2_000 {
					t.Errorf("want one short line, got %d bytes: %.300q", len(problem.Message), problem.Message)
				}
			}
			if !found {
				t.Errorf("want %q, got %.500v", tt.want, result.Errors)
			}
		})
	}
}
