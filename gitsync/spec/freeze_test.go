package spec

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func freezeText(text string) fstest.MapFS {
	return fstest.MapFS{FreezeFile: {Data: []byte(text)}}
}

func TestReadFreeze(t *testing.T) {
	t.Parallel()
	shop, lab := map[string]string{"tier": "shop"}, map[string]string{"tier": "lab"}
	tests := map[string]struct {
		files      fstest.MapFS
		shop, lab  bool
		reason     string
		until      string
		wrong, not string
	}{
		"none":             {files: fstest.MapFS{}},
		"everything":       {files: freezeText("reason: quarter end\n"), shop: true, lab: true, reason: "quarter end"},
		"until":            {files: freezeText("reason: quarter end\nuntil: 2027-01-04T09:00:00+01:00\n"), shop: true, lab: true, reason: "quarter end", until: "2027-01-04T08:00:00Z"},
		"by labels":        {files: freezeText("reason: x\nselector:\n  matchLabels: {tier: shop}\n"), shop: true, reason: "x"},
		"by expressions":   {files: freezeText("reason: x\nselector:\n  matchExpressions: [{key: tier, operator: NotIn, values: [shop]}]\n"), lab: true, reason: "x"},
		"by namespaces":    {files: freezeText("reason: x\nnamespaces: [lab]\n"), lab: true, reason: "x"},
		"by both":          {files: freezeText("reason: x\nnamespaces: [lab]\nselector: {matchLabels: {tier: shop}}\n"), reason: "x"},
		"empty":            {files: freezeText("# nothing\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:1: the file is empty"},
		"no reason":        {files: freezeText("until: 2027-01-04T09:00:00Z\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:1: reason: is missing"},
		"unknown field":    {files: freezeText("reason: x\n\nends: 2027-01-04T09:00:00Z\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:3: ends: unknown field"},
		"no time":          {files: freezeText("reason: x\nuntil: monday\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:2: until: "},
		"twice":            {files: freezeText("reason: x\nreason: y\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:2: broken YAML"},
		"bad selector":     {files: freezeText("reason: x\nselector:\n  matchExpressions: [{key: tier, operator: Like}]\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:2: selector: "},
		"no YAML":          {files: freezeText("reason: [\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:1: broken YAML"},
		"two documents":    {files: freezeText("reason: x\n---\nreason: y\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml:2: a freeze is one document"},
		"a list":           {files: freezeText("- reason: x\n"), shop: true, lab: true, wrong: ".sluice/freeze.yaml"},
		"a link":           {files: fstest.MapFS{FreezeFile: {Mode: fs.ModeSymlink, Data: []byte("x")}}, shop: true, lab: true, wrong: ".sluice/freeze.yaml: a freeze is a regular file"},
		"a folder":         {files: fstest.MapFS{FreezeFile + "/x": {}}, shop: true, lab: true, wrong: ".sluice/freeze.yaml: a freeze is a regular file"},
		"too large":        {files: freezeText("reason: x\n" + strings.Repeat("#", maxFreeze)), shop: true, lab: true, wrong: ".sluice/freeze.yaml: the file has "},
		"another's folder": {files: fstest.MapFS{".sluice/freeze.yml": {Data: []byte("reason: x")}, "deploy/.sluice/freeze.yaml": {Data: []byte("reason: x")}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			freeze, errors := ReadFreeze(tt.files)
			if freeze.Covers("shop", shop) != tt.shop || freeze.Covers("lab", lab) != tt.lab {
				t.Errorf("covers shop %t, lab %t; want %t, %t", freeze.Covers("shop", shop), freeze.Covers("lab", lab), tt.shop, tt.lab)
			}
			if len(errors) > 0 != (tt.wrong != "") || len(errors) > 0 && !strings.HasPrefix(errors[0].Error(), tt.wrong) {
				t.Errorf("errors are %v, want %q", errors, tt.wrong)
			}
			if freeze == nil {
				return
			}
			if want := tt.reason + tt.wrong; !strings.HasPrefix(freeze.Reason, want) {
				t.Errorf("the reason is %q, want %q", freeze.Reason, want)
			}
			if until := freeze.Until; until == nil && tt.until != "" || until != nil && until.UTC().Format(time.RFC3339) != tt.until {
				t.Errorf("it ends at %v, want %q", until, tt.until)
			}
		})
	}
}

// TestFreezeSchema: the schema that editors have for the file is written by hand: it has its
// fields, and no others.
func TestFreezeSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../schemas/freeze.json")
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]object `json:"properties"`
		Items      *object           `json:"items"`
	}
	var schema object
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	selector := schema.Properties["selector"]
	for _, tt := range []struct {
		fields map[string]reflect.Type
		schema object
	}{
		{fieldsOf(reflect.TypeFor[freezeFile]()), schema},
		{fieldsOf(reflect.TypeFor[metav1.LabelSelector]()), selector},
		{fieldsOf(reflect.TypeFor[metav1.LabelSelectorRequirement]()), *selector.Properties["matchExpressions"].Items},
	} {
		want, got := slices.Sorted(maps.Keys(tt.fields)), slices.Sorted(maps.Keys(tt.schema.Properties))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields (-reader +schema):\n%s", diff)
		}
	}
}

// FuzzReadFreeze: any file either freezes a release or is reported with its error.
func FuzzReadFreeze(f *testing.F) {
	for _, seed := range []string{"reason: x", "reason: x\nuntil: 2027-01-04T09:00:00Z", "selector: {}", "a: &a [*a]", "reason: x\nselector: {matchLabels: {a: b}}\nnamespaces: [c]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		freeze, errors := ReadFreeze(freezeText(string(data)))
		if freeze == nil || freeze.Reason == "" {
			t.Errorf("the file says nothing: %v", freeze)
		}
		if len(errors) > 0 && !freeze.Covers("any", nil) {
			t.Error("a file that is wrong freezes everything")
		}
	})
}
