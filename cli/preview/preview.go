// Package preview shows what a commit would release, in which batches, and who decides.
//
//	commit before, commit after ─► spec.Read ─► Compare ─► Preview ─► text, JSON, Markdown
//	  earlier commits ─► was the template there before?     │
//	                          plan.ForecastOf ─► batches ──────┘
//	                                cluster ─► Meet ──────┘
//
// Compare knows files only. What runs in the cluster may be another version, another number of
// pods, or in the middle of another release: Meet adds that, where somebody has read it.
package preview

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Commit is the name of a commit for people.
type Commit struct {
	Commit  string `json:"commit"`
	Subject string `json:"subject,omitempty"`
}

// State is a repository at a commit.
type State struct {
	Commit Commit
	Files  fs.FS
	Read   *spec.Result
}

// Kind is the kind of a change.
type Kind string

// Kinds of change.
const (
	// Released: the pods get another template, in batches.
	Released Kind = "Released"
	// RolledBack: the same, and the template was there before.
	RolledBack Kind = "RolledBack"
	// Added: the release is new.
	Added Kind = "Added"
	// Removed: the release is no longer there.
	Removed Kind = "Removed"
	// Kept: the release is refused, or its file is invalid, so that it stays as it is.
	Kept Kind = "Kept"
	// Changed: other rules for the same template. No pod is replaced.
	Changed Kind = "Changed"
	// Unfrozen: a freeze ends. A template that waited goes on.
	Unfrozen Kind = "Unfrozen"
	// Unchanged: nothing happens.
	Unchanged Kind = "Unchanged"
)

// Preview is the effect of a commit on all releases.
type Preview struct {
	From     Commit   `json:"from"`
	To       Commit   `json:"to"`
	Releases []Change `json:"releases"`
	// Errors are the errors in the files after the change.
	Errors []string `json:"errors"`
	// Warnings are probable mistakes between files: of releases that change, or new with the
	// change.
	Warnings []string `json:"warnings"`

	freeze *spec.Freeze
	// met says that the cluster was looked at.
	met bool
}

// Change is the effect of a commit on one release.
type Change struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	File      string `json:"file"`
	// WorkloadKind and Workload name its workload. Deployment is the same for a Deployment, and else
	// empty.
	WorkloadKind string `json:"workloadKind"`
	Workload     string `json:"workload"`
	Deployment   string `json:"deployment,omitempty"`
	Kind         Kind   `json:"kind"`
	// Train names the train of a member. Members names the releases that a train releases together,
	// each with the ones that it waits for.
	Train   string   `json:"train,omitempty"`
	Members []string `json:"members,omitempty"`
	// Fields of the template that differ, without values that may be secret.
	Fields []string `json:"fields,omitempty"`
	// Config says what differs in ConfigMaps and Secrets of spec.config, without values of Secrets.
	Config []string `json:"config,omitempty"`
	// Before is the commit that has the template already, if it is a rollback.
	Before *Commit `json:"before,omitempty"`
	// Replicas are the pods of the workload: of that in the cluster, if it was read there, else as its
	// manifest says; nil if that is not in the repository, or says nothing of it.
	Replicas *int32 `json:"replicas,omitempty"`
	// Surge and Unavailable are how many pods there may be beyond Replicas, or fewer.
	Surge       int32 `json:"surge"`
	Unavailable int32 `json:"unavailable"`
	// Most is how many pods there may be in all, if requests that routes share need more than Surge
	// allows.
	Most    *int64  `json:"most,omitempty"`
	Batches []Batch `json:"batches,omitempty"`
	// Routes name those that share requests, and the matches of batches, and say what of that differs.
	Routes []string `json:"routes,omitempty"`
	// Claims are volume claim templates that differ from earlier ones: from those in the cluster if
	// it was read.
	Claims *Claims `json:"volumeClaims,omitempty"`
	// Frozen says why, and until when, nothing happens.
	Frozen string `json:"frozen,omitempty"`
	// Notes are further remarks.
	Notes []string `json:"notes,omitempty"`
	// Cluster is the situation in the cluster; nil if it was not read.
	Cluster *Found `json:"cluster,omitempty"`

	// unplaced says that its namespace is not known.
	unplaced bool
	// release and object are the release after the change; nil if it is gone.
	release *spec.Release
	object  *v1alpha1.BatchRelease
	// fixedNote is the note on fields that never change, if there is one.
	fixedNote string
}

// Claims are volume claim templates of a StatefulSet that differ. They never change there.
type Claims struct {
	File  string   `json:"file"`
	Line  int      `json:"line,omitempty"`
	Names []string `json:"names"`
}

// Batch is one step.
type Batch struct {
	// Share is how many pods the step asks for, as it is written.
	Share string `json:"share"`
	// Pods run the new template when it is done, New more than before it; nil if it is not known how
	// many there are.
	Pods *int32 `json:"pods,omitempty"`
	New  *int32 `json:"new,omitempty"`
	// Traffic is the percentage of requests that the new version then gets, and Matches how many bring
	// others; nil if no route shares them.
	Traffic *int32 `json:"traffic,omitempty"`
	Matches int    `json:"matches,omitempty"`
	// Gates say what is waited for then, and who decides.
	Gates []string `json:"gates,omitempty"`
}

type key struct{ namespace, name string }

func keyOf(r *spec.Release) key { return key{r.Namespace, r.Name} }

// Unplaced leaves a namespace out of the text: it stands for one that nobody has named.
func (p *Preview) Unplaced(namespace string) {
	for i := range p.Releases {
		p.Releases[i].unplaced = p.Releases[i].Namespace == namespace
	}
}

// title returns the name of the release, with its namespace where that is known.
func (c *Change) title() string {
	if c.unplaced {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// Differ reports whether any template differs between two states, so that it is worth looking for
// it in earlier ones.
func Differ(before, after *State) bool {
	was := byKey(before)
	return slices.ContainsFunc(after.Read.Releases, func(r *spec.Release) bool {
		old := was[keyOf(r)]
		return old != nil && old.TemplateDigest != r.TemplateDigest
	})
}

// Compare says what going from one state to another would do. Earlier are states before the first
// one, the newest first.
func Compare(before, after *State, earlier []*State) (*Preview, error) {
	it := &comparison{before: before, after: after, earlier: earlier}
	preview := &Preview{From: before.Commit, To: after.Commit, Releases: []Change{}, Errors: []string{}, Warnings: []string{}}
	var problems []spec.Error
	it.freeze, problems = spec.ReadFreeze(after.Files)
	preview.freeze = it.freeze
	if before.Files != nil {
		it.thawed, _ = spec.ReadFreeze(before.Files)
	}
	for _, problem := range slices.Concat(after.Read.Errors, problems) {
		preview.Errors = append(preview.Errors, problem.Error())
	}
	for _, warning := range after.Read.Warnings {
		if !slices.Contains(before.Read.Warnings, warning) {
			preview.Warnings = append(preview.Warnings, warning.Error())
		}
	}
	was, is := byKey(before), byKey(after)
	for _, release := range after.Read.Releases {
		change, err := it.change(was[keyOf(release)], release)
		if err != nil {
			return nil, err
		}
		preview.Releases = append(preview.Releases, *change)
		if old := was[keyOf(release)]; change.Kind == Kept {
			preview.Errors = append(preview.Errors, spec.Find(after.Files, spec.Place{File: release.File, Line: release.Line}, "spec.workloadRef",
				spec.WorkloadRefused(release.WorkloadRef(), old.WorkloadRef())).Error())
		}
	}
	preview.noteKeptTrains(is)
	preview.addUp()
	preview.checkTrains(after)
	if err := preview.findMistakes(before, after); err != nil {
		return nil, err
	}
	for _, release := range before.Read.Releases {
		if is[keyOf(release)] == nil {
			if missing, kept := after.Read.Missing(release.Name, release.File, release.Kustomization); kept {
				preview.Errors = append(preview.Errors, missing.Error())
			}
			preview.Releases = append(preview.Releases, it.gone(release))
		}
	}
	slices.SortStableFunc(preview.Releases, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return preview, nil
}

func byKey(s *State) map[key]*spec.Release {
	releases := map[key]*spec.Release{}
	for _, release := range s.Read.Releases {
		releases[keyOf(release)] = release
	}
	return releases
}

// Of returns the changes of some kinds, in their order.
func (p *Preview) Of(kinds ...Kind) []Change {
	var found []Change
	for _, change := range p.Releases {
		if slices.Contains(kinds, change.Kind) {
			found = append(found, change)
		}
	}
	return found
}

// frozen says until when a release is, empty if it is not.
func frozen(freeze *spec.Freeze, release *v1alpha1.BatchRelease) string {
	if !freeze.Covers(release.Namespace, release.Labels) {
		return ""
	}
	text := "frozen by " + spec.FreezeFile
	if freeze.Until != nil {
		text += " until " + freeze.Until.UTC().Format("2006-01-02 15:04 MST")
	}
	return text + ": " + freeze.Reason
}
