package prometheus

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	queries "github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// known are the kinds of panels and queries whose fields are checked.
var known = sync.OnceValue(func() *cog.Runtime {
	known := cog.NewRuntime()
	known.RegisterPanelcfgVariant(stat.VariantConfig())
	known.RegisterPanelcfgVariant(table.VariantConfig())
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	known.RegisterDataqueryVariant(queries.VariantConfig())
	return known
})

// inGrafana returns the problems that the published schema of Grafana has with a dashboard: fields
// that no panel or query of that type has, fields that are missing, and values of another type.
func inGrafana(text string) []string {
	known := known()
	var d grafana.Dashboard
	errs := []error{d.UnmarshalJSONStrict([]byte(text)), d.Validate()}
	var all struct {
		Panels []struct {
			Type        string
			FieldConfig json.RawMessage
		}
	}
	errs = append(errs, json.Unmarshal([]byte(text), &all))
	for i, p := range all.Panels {
		if p.Type == "row" {
			continue
		}
		if _, found := known.ConfigForPanelcfgVariant(p.Type); !found {
			errs = append(errs, fmt.Errorf("panels[%d]: the check does not know the type %s", i, p.Type))
		}
		var fields grafana.FieldConfigSource // The library takes unknown ones in a panel.
		if err := fields.UnmarshalJSONStrict(p.FieldConfig); err != nil {
			errs = append(errs, cog.MakeBuildErrors(fmt.Sprintf("panels[%d].fieldConfig", i), err))
		}
	}
	problems := ""
	for _, err := range errs {
		if err != nil { // The library also returns errors that say nothing.
			problems += err.Error() + "\n"
		}
	}
	return strings.FieldsFunc(problems, func(r rune) bool { return r == '\n' })
}

// TestGrafanaTakesDashboard: it is as Grafana's schema describes dashboards, with the options of
// each panel and query.
func TestGrafanaTakesDashboard(t *testing.T) {
	t.Parallel()
	text, _ := readDashboard(t)
	for _, problem := range inGrafana(text) {
		t.Error(problem)
	}
}

// TestGrafanaRefuses: the check sees mistakes at every depth.
func TestGrafanaRefuses(t *testing.T) {
	t.Parallel()
	text, _ := readDashboard(t)
	for name, change := range map[string]struct{ from, to, want string }{
		"Field":     {`"graphTooltip"`, `"graphToolTip"`, "graphToolTip"},
		"Panel":     {`"fieldConfig"`, `"fieldConfigs"`, "fieldConfigs"},
		"PanelType": {`"type": "stat"`, `"type": "singlestat"`, "singlestat"},
		"Option":    {`"colorMode"`, `"colourMode"`, "colourMode"},
		"Style":     {`"spanNulls"`, `"spanNull"`, "spanNull"},
		"Query":     {`"legendFormat"`, `"legend_format"`, "legend_format"},
		"Standard":  {`"noValue"`, `"no_value"`, "no_value"},
		"Threshold": {`"value": 600`, `"value": "600"`, "thresholds"},
		"Variable":  {`"includeAll": true`, `"includeAll": "yes"`, "includeAll"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := strings.Join(inGrafana(strings.Replace(text, change.from, change.to, 1)), "\n")
			if !strings.Contains(problems, change.want) {
				t.Errorf("want a problem with %s, got %q", change.want, problems)
			}
		})
	}
}
