package page

import (
	"io/fs"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sluice-dev/sluice/dashboard/view"
)

// hostile is what an attacker writes into each text.
const hostile = `"'><img src=x onerror=alert(1)><script>alert(2)</script></title></style></noscript>` + "`${alert(3)}`{{.}}\u202e\x00"

// releasePage is as package dashboard has it.
type releasePage struct {
	Release *view.Release
	Actions []action
}

type action struct {
	Text, Address, Kind string
	Apart               bool
}

// changedPage is as package dashboard has it.
type changedPage struct {
	Namespace, Name, Lead string
	What                  []string
}

// contents returns the data of each page.
func contents() map[Name]any {
	return map[Name]any{
		Releases: &view.Releases{}, Release: &releasePage{Release: &view.Release{}}, Diff: &view.Diff{}, Sources: &view.Sources{}, History: &view.History{},
		Problem: new(string), Confirm: &view.Confirm{}, Changed: &changedPage{},
	}
}

// fill fills all that a value has, two of each, with a text and a number.
func fill(v reflect.Value, text string, number int64) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(min(number, int64(1)<<(v.Type().Bits()-1)-1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, number)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text+strings.Repeat("I", i), number)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000, 0)))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text, number)
			}
		}
	}
}

// rendered returns each page made of nothing, of hostile texts and of numbers out of all bounds.
func rendered(t *testing.T) map[string]*html.Node {
	t.Helper()
	pages := map[string]*html.Node{}
	for name, kind := range map[string]struct {
		text   string
		number int64
	}{"nothing": {}, "hostile": {hostile, math.MaxInt64}, "negative": {hostile, math.MinInt32}} {
		for page, content := range contents() {
			frame := &Frame{Content: content}
			if name != "nothing" {
				fill(reflect.ValueOf(content).Elem(), kind.text, kind.number)
				frame = &Frame{
					Title: hostile, Cluster: hostile, Viewer: hostile, Version: hostile, CSRF: hostile, Leaves: true, Live: hostile,
					Nav: []NavLink{{hostile, hostile, true}}, Notice: &Notice{view.Good, hostile}, Content: content,
				}
			}
			text, err := Render(page, frame)
			if err != nil {
				t.Errorf("%s of %s: %v", page, name, err)
				continue
			}
			document, err := html.ParseWithOptions(strings.NewReader(string(text)), html.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			pages[string(page)+" of "+name] = document
		}
	}
	return pages
}

var harmful = []string{"img", "iframe", "object", "embed", "style", "base", "frame", "template", "math", "foreignobject"}

func TestNoPageRunsWhatItShows(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^(https?://|/([^/\\]|$)|#|\?)`)
	for name, document := range rendered(t) {
		for node := range document.Descendants() {
			if node.Type != html.ElementNode {
				continue
			}
			if slices.Contains(harmful, node.Data) || node.Data == "script" && node.FirstChild != nil {
				t.Errorf("%s has <%s>", name, node.Data)
			}
			for _, attribute := range node.Attr {
				key, value := strings.ToLower(attribute.Key), attribute.Val
				if strings.HasPrefix(key, "on") || key == "style" || key == "srcdoc" {
					t.Errorf("%s: <%s> has %s", name, node.Data, key)
				}
				if slices.Contains([]string{"href", "src", "action", "formaction"}, key) && !safe.MatchString(value) && !strings.HasPrefix(value, "%22") {
					t.Errorf("%s: <%s> leads to %q", name, node.Data, value)
				}
			}
		}
	}
}

// TestIDsAreUnique: ids are unique, because assistive technology and page updates find elements by
// them.
func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	for name, document := range rendered(t) {
		ids, wanted := map[string]bool{}, map[string]bool{}
		for node := range document.Descendants() {
			for _, attribute := range node.Attr {
				switch attribute.Key {
				case "id":
					if ids[attribute.Val] && !strings.Contains(name, "of nothing") && !strings.Contains(attribute.Val, hostile[:3]) {
						t.Errorf("%s has the id %q twice", name, attribute.Val)
					}
					ids[attribute.Val] = true
				case "for", "aria-labelledby", "aria-describedby":
					wanted[attribute.Val] = true
				}
			}
		}
		missing := func(id string) bool { return !ids[id] }
		for value := range wanted { // one ID, or several
			if several := strings.Fields(value); missing(value) && (len(several) < 2 || slices.ContainsFunc(several, missing)) {
				t.Errorf("%s refers to %q, which it has not", name, value)
			}
		}
	}
}

func TestBarsFitTheirDrawing(t *testing.T) {
	t.Parallel()
	for _, pods := range []view.Pods{
		{}, {NewAvailable: 1}, {Wanted: 10, Target: 30}, {NewAvailable: 1, NewPending: 2, OldAvailable: 3, OldPending: 4, Terminating: 5, Wanted: 10, Target: 3},
		{OldAvailable: 100_000, NewAvailable: 1, Wanted: 100_000},
	} {
		end := 0
		for _, part := range segments(pods) {
			if part.X != end || part.Width <= 0 {
				t.Errorf("%+v: part %+v begins where the one before it ends", pods, part)
			}
			end = part.X + part.Width
		}
		if end > barWidth || tick(pods) < 0 || tick(pods) > barWidth-3 {
			t.Errorf("%+v: the bar ends at %d, its mark is at %d", pods, end, tick(pods))
		}
	}
	for _, tc := range [][3]int{{0, 0, 0}, {5, 0, 0}, {-1, 5, 0}, {1, 3, 33}, {9, 3, 100}, {math.MaxInt32, 1, 100}} {
		if got := percent(int32(tc[0]), int32(tc[1])); got != tc[2] {
			t.Errorf("%d of %d is %d%%, want %d%%", tc[0], tc[1], got, tc[2])
		}
	}
	if got, want := plot(&view.Traffic{Plan: []int32{10, -5, 400}}), "M0 100 V90 H133 V100 H266 V0 H400"; got != want {
		t.Errorf("the plot is %s, want %s", got, want)
	}
}

// TestAssetsAreSmall: the assets of a page are small.
func TestAssetsAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	err := fs.WalkDir(Assets(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Assets(), name)
		total += len(data)
		if strings.Contains(string(data), "@import") || strings.Contains(string(data), "url(") {
			t.Errorf("%s loads something more", name)
		}
		return err
	})
	if err != nil || total > 40<<10 {
		t.Errorf("the assets have %d bytes, want at most 40 KiB: %v", total, err)
	}
}

// TestOneOfEach: no page shows a plural for one.
func TestOneOfEach(t *testing.T) {
	t.Parallel()
	all := contents()
	all[Confirm] = &view.Confirm{}
	slips := regexp.MustCompile(`\b1 ([a-z]+ )?(pods|batches|releases|errors|rows|gates|need|wait)\b`)
	for name, content := range all {
		fill(reflect.ValueOf(content).Elem(), "x", 1)
		if list, is := content.(*view.Releases); is {
			list.Counts = map[string]int{"bad": 1, "waiting": 1}
		}
		if asks, is := content.(*view.Confirm); is {
			asks.Preview.Simulate.Missing = ""
		}
		text, err := Render(name, &Frame{Content: content})
		if err != nil {
			t.Fatal(err)
		}
		if slip := slips.Find(text); slip != nil {
			t.Errorf("%s: %q", name, slip)
		}
	}
	for number, want := range map[int]string{0: "pods", 1: "pod", 2: "pods"} {
		if got := view.Form(number, "pod", "pods"); got != want {
			t.Errorf("%d: got %s, want %s", number, got, want)
		}
	}
}
