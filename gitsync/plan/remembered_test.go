package plan

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestEditedMetadataIsRestored: a process that remembers a release undoes edits of its metadata,
// which change no generation, and what another object of its name has.
func TestEditedMetadataIsRestored(t *testing.T) {
	t.Parallel()
	edits := map[string]func(*v1alpha1.BatchRelease){
		"a label of Git":   func(r *v1alpha1.BatchRelease) { r.Labels["tier"] = "tin" },
		"the source label": func(r *v1alpha1.BatchRelease) { delete(r.Labels, v1alpha1.SourceLabel) },
		"the digest":       func(r *v1alpha1.BatchRelease) { delete(r.Annotations, v1alpha1.AppliedDigestAnnotation) },
		"the object, made again": func(r *v1alpha1.BatchRelease) {
			r.UID, r.Spec.Strategy.Steps = "another", nil
		},
		"the template": func(r *v1alpha1.BatchRelease) { delete(r.Annotations, v1alpha1.GitTemplateAnnotation) },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				never := func() bool { return false }
				c, applied := newCluster(), map[Key]Applied{}
				desired := read(t, true, "first", map[string]string{"a.yaml": releaseText("a", "1", "front", 1, 1)})
				c.pass(t, desired, applied, never)
				if len(applied) != 1 {
					t.Fatalf("%d releases are remembered, want 1", len(applied))
				}
				edit(c.releases[named("a")])
				c.pass(t, desired, applied, never)
				if !asGitAsks(desired, c.releases[named("a")], desired.Content.Releases[0]) {
					t.Fatalf("the edited release has labels %v and annotations %v", c.releases[named("a")].Labels, c.releases[named("a")].Annotations)
				}
				if writes, _ := c.pass(t, desired, applied, never); writes > 0 {
					t.Fatalf("at rest %d writes are made", writes)
				}
			})
		})
	}
}

// BenchmarkAtRest compares a release at rest with Git, by what is remembered and in full.
func BenchmarkAtRest(b *testing.B) {
	desired := read(b, true, "first", map[string]string{"a.yaml": releaseText("a", "1", "front", 1, 1)})
	release, live := desired.Content.Releases[0], &v1alpha1.BatchRelease{}
	write := ApplyRelease{Release: release, Label: desired.Source.LabelIn(namespace), Origin: desired.Origin}
	if data, err := json.Marshal(write.Object().Object); err != nil || json.Unmarshal(data, live) != nil {
		b.Fatal("the release can't be read back")
	}
	remembered := Remembered{Applied: map[Key]Applied{named("a"): applied(desired, live, release)}}
	for name, compare := range map[string]func() bool{
		"remembered": func() bool { return known(desired, remembered, live, release) },
		"in full":    func() bool { return asGitAsks(desired, live, release) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !compare() {
					b.Fatal("the release is not as Git asks")
				}
			}
		})
	}
}
