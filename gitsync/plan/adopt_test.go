package plan

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// TestAdopting: a release that comes with a change of its workload has the template of the commit
// before until the workload is adopted, a gate opens, or a minute is over.
func TestAdopting(t *testing.T) {
	t.Parallel()
	desired := read(t, false, "second", map[string]string{"a.yaml": releaseText("a", "2", "front", 1, 1)})
	release := desired.Content.Releases[0]
	earlier := read(t, false, "first", map[string]string{"a.yaml": releaseText("a", "1", "front", 1, 1)}).Content.Releases[0]
	desired.Before = Origin{Commit: "first"}
	desired.Content.Earlier = map[*spec.Release]*spec.Release{release: earlier}
	given := func(template string, change func(*v1alpha1.BatchRelease)) *v1alpha1.BatchRelease {
		live := &v1alpha1.BatchRelease{}
		live.Annotations = map[string]string{v1alpha1.GitTemplateAnnotation: template}
		live.Spec.WorkloadRef = release.WorkloadRef()
		if change != nil {
			change(live)
		}
		return live
	}
	for name, tt := range map[string]struct {
		read  time.Duration
		live  *v1alpha1.BatchRelease
		there bool
		want  string
	}{
		"there is no release":           {10 * time.Second, nil, true, "first"},
		"there is no workload":          {10 * time.Second, nil, false, "second"},
		"it is to be adopted":           {10 * time.Second, given(earlier.TemplateDigest, nil), true, "first"},
		"it is adopted":                 {10 * time.Second, given(earlier.TemplateDigest, func(r *v1alpha1.BatchRelease) { r.Annotations[v1alpha1.CurrentStableAnnotation] = "v1" }), true, "second"},
		"a person is asked":             {10 * time.Second, given(earlier.TemplateDigest, func(r *v1alpha1.BatchRelease) { r.Status.Gates = []v1alpha1.GateReference{{}} }), true, "second"},
		"it takes too long":             {2 * time.Minute, given(earlier.TemplateDigest, nil), true, "second"},
		"it has gone on":                {10 * time.Second, given(release.TemplateDigest, nil), true, "second"},
		"somebody has given it another": {10 * time.Second, given("another", nil), true, "second"},
	} {
		desired.ReadAt = now.Add(-tt.read)
		observed := Observed{Now: now, Releases: map[Key]*v1alpha1.BatchRelease{}, Workloads: map[Workload]bool{WorkloadOf(release): tt.there}}
		if tt.live != nil {
			observed.Releases[named("a")] = tt.live
		}
		next := Next(desired, observed, Remembered{})
		if next.Adopts != (tt.want == "first") || len(next.Writes) != 1 {
			t.Fatalf("%s: adopts is %t, writes %v; want the release of the %s commit", name, next.Adopts, next.Writes, tt.want)
		}
		if apply, is := next.Writes[0].(ApplyRelease); is && apply.Origin.Commit != tt.want {
			t.Errorf("%s: got the release of commit %s, want the %s", name, apply.Origin.Commit, tt.want)
		}
	}
}
