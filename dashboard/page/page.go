// Package page renders the pages of the dashboard.
//
//	view.Releases, view.Release, ... ──► Frame ──► html/template ──► bytes
//
// What must hold:
//
//   - all texts of Git, the forge and people go through html/template, which escapes them for their
//     context;
//   - no page has inline scripts or styles, or loads anything except the assets embedded here.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/dashboard/view"
)

//go:embed templates/*.html
var sources embed.FS

//go:embed assets
var assets embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": ago, "gatesAt": gatesAt, "percent": percent, "segments": segments, "tick": tick, "plot": plot, "above": above, "form": view.Form,
}).ParseFS(sources, "templates/*.html"))

// Name is a page.
type Name string

// The pages.
const (
	Releases Name = "releases"
	Release  Name = "release"
	Diff     Name = "diff"
	Sources  Name = "sources"
	History  Name = "history"
	Confirm  Name = "confirm"
	Problem  Name = "problem"
)

// Frame is the content of a page with everything around it.
type Frame struct {
	Title string
	Nav   []NavLink
	// Cluster is the name of the cluster; empty if it has none.
	Cluster, Viewer, Version string
	// CSRF is the token that each form has; Leaves says that the viewer can log out.
	CSRF   string
	Leaves bool
	// Live is the topic whose changes the page follows, as parameters of /live; empty for a page that
	// does not update.
	Live    string
	Now     view.Moment
	Notice  *Notice
	Content any
}

// NavLink is a link to a main page.
type NavLink struct {
	Text, Address string
	Current       bool
}

// Notice is the result of an action.
type Notice struct {
	Mark view.Mark
	Text string
}

// Render renders a page.
func Render(name Name, frame *Frame) ([]byte, error) {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, string(name), frame); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// Assets returns the files that pages load, by their names.
func Assets() fs.FS {
	sub, err := fs.Sub(assets, "assets")
	if err != nil { // the name is a constant
		panic(err)
	}
	return sub
}

// since is a time, and the one that it is compared with.
type since struct {
	Moment view.Moment
	Now    time.Time
}

func ago(moment view.Moment, now time.Time) since { return since{moment, now} }

// datedGates holds gates, and the time that their times are compared with.
type datedGates struct {
	Gates []view.Gate
	Now   time.Time
}

func gatesAt(gates []view.Gate, now time.Time) datedGates { return datedGates{gates, now} }

// percent returns a part of a whole, from 0 to 100.
func percent(part, whole int32) int {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int(min(100, int64(part)*100/int64(whole)))
}

// barWidth is the width of the bar of pods, in the units of its drawing.
const barWidth = 1000

// Segment is a part of the bar of pods.
type Segment struct {
	Class    string
	X, Width int
}

// segments returns the parts of the bar of pods. Its whole width stands for all existing pods, or
// all wanted pods if these are more.
func segments(pods view.Pods) []Segment {
	whole := max(pods.Total(), pods.Wanted, 1)
	var parts []Segment
	before := 0
	for _, part := range []struct {
		class string
		pods  int
	}{
		{"new", pods.NewAvailable},
		{"new pending", pods.NewPending},
		{"old pending", pods.OldPending},
		{"old", pods.OldAvailable},
		{"going", pods.Terminating},
	} {
		x, end := before*barWidth/whole, (before+part.pods)*barWidth/whole
		before += part.pods
		if end > x {
			parts = append(parts, Segment{part.class, x, end - x})
		}
	}
	return parts
}

// tick returns the position of the batch's target in the bar of pods.
func tick(pods view.Pods) int {
	return min(barWidth-3, pods.Target*barWidth/max(pods.Total(), pods.Wanted, 1))
}

// The plot of shares: its width, and the height of a share of 100%.
const (
	plotWidth = 400
	plotHigh  = 100
)

// plot returns the path of the planned shares of all batches, drawn as stairs.
func plot(traffic *view.Traffic) string {
	if len(traffic.Plan) == 0 {
		return ""
	}
	var path strings.Builder
	path.WriteString("M0 " + strconv.Itoa(plotHigh))
	for i, weight := range traffic.Plan {
		fmt.Fprintf(&path, " V%d H%d", above(weight), (i+1)*plotWidth/len(traffic.Plan))
	}
	return path.String()
}

// above returns how far below the top of the plot a share is drawn.
func above(weight int32) int32 { return plotHigh - min(max(weight, 0), 100) }
