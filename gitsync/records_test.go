package gitsync

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

func approval(namespace, release string) v1alpha1.ApprovalRecord {
	return v1alpha1.ApprovalRecord{Namespace: namespace, Release: release, Revision: "7f9c", Commit: "c0ffee", Step: 1, Nonce: "5e1f"}
}

func recordFiles(approvals ...v1alpha1.ApprovalRecord) fstest.MapFS {
	files := fstest.MapFS{}
	for _, a := range approvals {
		files[record.Path(a.Namespace, a.Release)] = &fstest.MapFile{Data: record.Format(a)}
	}
	return files
}

// readable returns the names of the records that approve something.
func (r *records) readable() []string {
	var names []string
	for key, file := range r.files {
		if file.err == nil {
			names = append(names, key.String())
		}
	}
	slices.Sort(names)
	return names
}

func TestReadRecords(t *testing.T) {
	t.Parallel()
	text := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	tests := map[string]struct {
		more   fstest.MapFS
		want   []string
		errors []string
	}{
		"Good":             {more: recordFiles(approval("shop", "api"), approval("extra", "web")), want: []string{"extra/web", "shop/api", "shop/web"}},
		"OtherNamespaces":  {more: recordFiles(approval("lab", "web")), want: []string{"shop/web"}},
		"NotOurs":          {more: fstest.MapFS{".sluice/approvals/README.md": text("x"), ".sluice/approvals/shop/web.yml": text("a: ["), ".sluice/x.yaml": text("a: [")}, want: []string{"shop/web"}},
		"NoFolder":         {more: fstest.MapFS{".sluice/approvals/extra": text("x")}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/extra: not"}},
		"Broken":           {more: fstest.MapFS{record.Path("shop", "api"): text("a: [")}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: the file is no record"}},
		"Empty":            {more: fstest.MapFS{record.Path("shop", "api"): text("")}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: the file is no record of an approval: namespace is missing"}},
		"TooLarge":         {more: fstest.MapFS{record.Path("shop", "api"): text(strings.Repeat("#", record.MaxBytes+1))}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: the file has 4097 bytes"}},
		"Folder":           {more: fstest.MapFS{record.Path("shop", "api") + "/x": text("")}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: a record is a regular file"}},
		"Submodule":        {more: fstest.MapFS{record.Path("shop", "api"): {Mode: fs.ModeIrregular}}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: a record is a regular file"}},
		"Link":             {more: fstest.MapFS{record.Path("shop", "api"): {Mode: fs.ModeSymlink, Data: []byte("web.yaml")}}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: a record is a regular file"}},
		"OfAnotherRelease": {more: fstest.MapFS{record.Path("shop", "api"): {Data: record.Format(approval("shop", "web"))}}, want: []string{"shop/web"}, errors: []string{".sluice/approvals/shop/api.yaml: the record is for release shop/web"}},
		"OfAnotherNamespace": {more: fstest.MapFS{record.Path("extra", "web"): {Data: record.Format(approval("shop", "web"))}}, want: []string{"shop/web"},
			errors: []string{".sluice/approvals/extra/web.yaml: the record is for release shop/web"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := recordFiles(approval("shop", "web"))
			maps.Copy(files, tt.more)
			got := readRecords(files, []string{"extra", "shop"}, nil)
			if diff := cmp.Diff(tt.want, got.readable()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			for i := range max(len(tt.errors), len(got.errors)) {
				if i >= len(tt.errors) || i >= len(got.errors) || !strings.HasPrefix(got.errors[i].Error(), tt.errors[i]) {
					t.Errorf("errors: got %v, want %v", got.errors, tt.errors)
					break
				}
			}
		})
	}
}

func TestRecordsNameTheirBlob(t *testing.T) {
	t.Parallel()
	want := approval("shop", "web")
	got := readRecords(recordFiles(want), []string{"shop"}, nil).files[client.ObjectKey{Namespace: "shop", Name: "web"}]
	want.Blob = forge.BlobSHA(record.Format(want))
	if diff := cmp.Diff(want, got.record); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// TestRecordsAreParsedOnce: Records stay for ever, so a look must cost what changed, and errors
// must not be forgotten.
func TestRecordsAreParsedOnce(t *testing.T) {
	t.Parallel()
	files := recordFiles(approval("shop", "web"), approval("shop", "api"))
	files[record.Path("shop", "bad")] = &fstest.MapFile{Data: []byte("a: [")}
	before := readRecords(files, []string{"shop"}, nil)
	web := client.ObjectKey{Namespace: "shop", Name: "web"}
	kept := before.files[web]
	kept.record.Nonce = "as it was parsed before"
	before.files[web] = kept
	changed := approval("shop", "api")
	changed.Step = 2
	maps.Copy(files, recordFiles(changed))
	after := readRecords(files, []string{"shop"}, before)
	if got := after.files[web].record.Nonce; got != kept.record.Nonce {
		t.Errorf("an unchanged file was parsed again: nonce %q", got)
	}
	if got := after.files[client.ObjectKey{Namespace: "shop", Name: "api"}].record.Step; got != 2 {
		t.Errorf("a changed file says step %d, want 2", got)
	}
	if len(after.errors) != 1 || after.errors[0] != before.errors[0] {
		t.Errorf("errors: got %v, want those of before, %v", after.errors, before.errors)
	}
}

func TestTooManyRecords(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range maxRecords + 1 {
		a := approval("shop", fmt.Sprintf("web-%05d", i))
		files[record.Path(a.Namespace, a.Release)] = &fstest.MapFile{Data: record.Format(a)}
	}
	got := readRecords(files, []string{"shop"}, nil)
	if len(got.files) != maxRecords || len(got.errors) != 1 || !strings.Contains(got.errors[0].Error(), "web-10000.yaml: the file is not read: there are more than 10000 records") {
		t.Errorf("got %d records and errors %v", len(got.files), got.errors)
	}
}
