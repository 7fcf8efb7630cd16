package prometheus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard holds the checked parts of a Grafana dashboard.
type dashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Datasource               struct{ UID string }
	Targets                  []target
	FieldConfig              struct {
		Defaults struct {
			NoValue string
			Custom  struct{ DrawStyle string }
		}
	}
}

type target struct {
	RefID, Expr string
	Datasource  struct{ UID string }
}

func readDashboard(t *testing.T) (string, dashboard) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&d); err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	return string(data), d
}

// TestDashboardShowsWhatIsThere: Prometheus takes every query, and each is of metrics that are
// exported.
func TestDashboardShowsWhatIsThere(t *testing.T) {
	t.Parallel()
	_, d := readDashboard(t)
	shown := ""
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			shown += target.Expr + "\n"
			for _, problem := range unknown(filled(target.Expr)) {
				t.Errorf("%s: %s", p.Title, problem)
			}
		}
		if len(p.Targets) == 0 != (p.Type == "row") {
			t.Errorf("%s: want queries in every panel that is not a row", p.Title)
		}
	}
	for name := range metrics {
		if strings.HasPrefix(name, "sluice_") && !strings.Contains(shown, name) && !slices.Contains(notShown, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// notShown are of more use in an alert or a query than in a panel.
var notShown = []string{
	"sluice_release_stopped", "sluice_notices_config_valid", "sluice_forge_reset_timestamp_seconds", "sluice_forge_requests", "sluice_forge_requests_unchanged",
}

// filled returns a query as Grafana sends it, with its own variables replaced.
func filled(expression string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range_s", "86400", "$__range", "1d", "$namespace", "shop|cart").Replace(expression)
}

// TestDashboardIsSound: it can be imported anywhere, and its panels neither share ids nor lie on
// each other.
func TestDashboardIsSound(t *testing.T) {
	t.Parallel()
	text, d := readDashboard(t)
	if d.UID != "sluice" {
		t.Errorf("want a uid that stays, got %q", d.UID)
	}
	names := ""
	for _, variable := range d.Templating.List {
		names += variable.Name + " "
	}
	if names != "datasource namespace " {
		t.Errorf("want the variables datasource and namespace, got %s", names)
	}
	for _, url := range regexp.MustCompile(`https?://[^"]*`).FindAllString(text, -1) {
		if !strings.HasPrefix(url, "https://github.com/sluice-dev/sluice/blob/main/docs/") {
			t.Errorf("want no link but to the docs, got %s", url)
		}
	}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if other, taken := ids[p.ID]; taken || p.ID == 0 {
			t.Errorf("%s: want an id of its own, has %d as %q", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		checkPanel(t, p)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

func checkPanel(t *testing.T, p panel) {
	t.Helper()
	if p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X+p.GridPos.W > 24 {
		t.Errorf("%s: does not fit on 24 columns: %+v", p.Title, p.GridPos)
	}
	if p.Type == "row" {
		return
	}
	if p.Title == "" || p.Description == "" {
		t.Errorf("panel %d: want a title and a description", p.ID)
	}
	for _, target := range p.Targets {
		if p.Datasource.UID != "${datasource}" || target.Datasource.UID != "${datasource}" {
			t.Errorf("%s: want the data source that is chosen", p.Title)
		}
	}
}
