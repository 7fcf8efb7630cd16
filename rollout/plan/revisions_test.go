package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeepTheTemplateOfTheWorkload(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kept []Kept
		want []Action
	}{
		"the first has number 1": {
			nil, []Action{Keep{Reason: "why", Revision: "v1", Digest: "digest-v1", Number: 1}},
		},
		"the next has the highest number so far and one": {
			[]Kept{{Revision: "v8", Number: 7}, {Revision: "v9", Number: 3}},
			[]Action{Keep{Reason: "why", Revision: "v1", Digest: "digest-v1", Number: 8}},
		},
		"one that is kept is not kept twice": {
			[]Kept{{Revision: "v1", Digest: "digest-v1", Number: 1}}, nil,
		},
		"another template of the same hash is not that one": {
			[]Kept{{Revision: "v1", Digest: "digest-of-a-collision", Number: 1}},
			[]Action{Keep{Reason: "why", Revision: "v1", Digest: "digest-v1", Number: 2}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := running(10).but(func(o *Observation) { o.Kept = test.kept }).pass()
			p.keepWorkloadTemplate("why")
			if diff := cmp.Diff(test.want, p.out.Actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForgetOldTemplates(t *testing.T) {
	t.Parallel()
	limit := func(n int32) func(*Observation) {
		return func(o *Observation) { o.Release.Spec.RevisionHistoryLimit = &n }
	}
	const beyond = ": beyond revisionHistoryLimit"
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"within the limit all stay": {
			handedBack(10).but(keptInOrder("v7", "v8", "v9")).but(limit(3)), nil,
		},
		"beyond it the oldest goes": {
			handedBack(10).but(keptInOrder("v6", "v7", "v8", "v9")).but(limit(3)),
			[]string{"forget template web-v6" + beyond},
		},
		"the oldest is told by its number, not by its place": {
			handedBack(10).but(keptInOrder("v6", "v7", "v8")).but(limit(2)).but(func(o *Observation) { o.Kept[2].Number = 0 }),
			[]string{"forget template web-v8" + beyond},
		},
		"none that a rollback may name goes, whatever the limit": {
			handedBack(10).but(keptInOrder("v0", "v1", "v2", "v9")).stable("v1", "v0").but(limit(1)),
			[]string{"forget template web-v9" + beyond},
		},
		"what a release in the making goes back to stays": {
			handedBack(10).but(keptInOrder("v1", "v9")).stable("", "").but(limit(1)),
			[]string{"forget template web-v9" + beyond},
		},
		"ten stay unless the release says otherwise": {
			handedBack(10).but(keptInOrder("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1")),
			[]string{"forget template web-a0" + beyond, "forget template web-a1" + beyond},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := test.scene.pass()
			p.forgetOldTemplates()
			if diff := cmp.Diff(test.want, script(p.out)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForgetWhatWasRolledBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"what was stable until the rollback":               {rollingBack(10), []string{"forget template web-v2: it was rolled back"}},
		"a release that goes forward forgets nothing":      {held(10).keep("v2").stable("v1", ""), nil},
		"a revision that is stable again is not forgotten": {rollingBack(10).stable("v1", ""), nil},
		"a stable revision without a template is no harm":  {rollingBack(10).but(keptInOrder("v1")), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := test.scene.pass()
			p.forgetRolledBack(p.Workload.Revision)
			if diff := cmp.Diff(test.want, script(p.out)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
