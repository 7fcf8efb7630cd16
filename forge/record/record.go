// Package record defines the file that records an approval in Git; pure.
//
//	Gate ──Of──► ApprovalRecord ──Format──► .sluice/approvals/<namespace>/<release>.yaml
//	                  ▲                                    │
//	                  └────────────────Parse───────────────┘
//
// What must hold:
//
//   - no two gates have the same record: the nonce is random and made when the gate opens;
//   - a record is read strictly: a file that says more, or less, than it should approves nothing.
package record

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// Folder holds the records, from the root of the repository.
const Folder = ".sluice/approvals"

// MaxBytes is more than any record needs.
const MaxBytes = 4 << 10

// Path returns the path of a release's record, from the root of the repository.
func Path(namespace, release string) string {
	return path.Join(Folder, namespace, release+".yaml")
}

// Branch returns the branch that proposes the record of g. No other gate has the same branch, so
// the cleanup of one gate never removes the branch of another.
func Branch(g *v1alpha1.Gate) string {
	mark := strings.ToLower(g.Spec.Nonce[:min(len(g.Spec.Nonce), branchMark)])
	return fmt.Sprintf("sluice/%s/%s/%s/step-%d-%s", g.Namespace, forge.BranchPart(g.Spec.ReleaseRef.Name), g.Spec.Revision, g.Spec.Step+1, mark)
}

// branchMark is how much of a nonce tells branches apart.
const branchMark = 8

// Of returns the record that lets g through.
func Of(g *v1alpha1.Gate) v1alpha1.ApprovalRecord {
	return v1alpha1.ApprovalRecord{
		Namespace: g.Namespace,
		Release:   g.Spec.ReleaseRef.Name,
		Revision:  g.Spec.Revision,
		Commit:    g.Spec.Commit,
		Step:      g.Spec.Step,
		Nonce:     g.Spec.Nonce,
	}
}

// file is a record as YAML, in the order in which people read it.
type file struct {
	Namespace string `json:"namespace"`
	Release   string `json:"release"`
	Commit    string `json:"commit,omitempty"`
	Revision  string `json:"revision"`
	Step      *int32 `json:"step"`
	Nonce     string `json:"nonce"`
}

const header = `# Approval of one step of a release. Once this file is on the tracked branch, the release goes on to its
# next step. It counts for this step of this revision alone, and once.
`

// Format writes a record as the file that is put into Git. Everything is quoted: YAML takes names
// such as on, 1e3 and null for something else.
func Format(r v1alpha1.ApprovalRecord) []byte {
	var out bytes.Buffer
	out.WriteString(header)
	fmt.Fprintf(&out, "namespace: %q\nrelease: %q\n", r.Namespace, r.Release)
	if r.Commit != "" {
		fmt.Fprintf(&out, "commit: %q\n", r.Commit)
	}
	fmt.Fprintf(&out, "revision: %q\nstep: %d\nnonce: %q\n", r.Revision, r.Step, r.Nonce)
	return out.Bytes()
}

// Parse reads a record. An unknown field, one that is given twice and one that is missing are
// errors.
func Parse(content []byte) (v1alpha1.ApprovalRecord, error) {
	if len(content) > MaxBytes {
		return v1alpha1.ApprovalRecord{}, fmt.Errorf("the file has %d bytes; a record has at most %d", len(content), MaxBytes)
	}
	var f file
	if err := yaml.UnmarshalStrict(content, &f); err != nil {
		return v1alpha1.ApprovalRecord{}, fmt.Errorf("the file is no record of an approval: %w", err)
	}
	if missing := f.missing(); missing != "" {
		return v1alpha1.ApprovalRecord{}, fmt.Errorf("the file is no record of an approval: %s is missing", missing)
	}
	return v1alpha1.ApprovalRecord{
		Namespace: f.Namespace, Release: f.Release, Revision: f.Revision, Commit: f.Commit, Step: *f.Step, Nonce: f.Nonce,
	}, nil
}

func (f file) missing() string {
	switch {
	case f.Namespace == "":
		return "namespace"
	case f.Release == "":
		return "release"
	case f.Revision == "":
		return "revision"
	case f.Step == nil:
		return "step"
	case f.Nonce == "":
		return "nonce"
	}
	return ""
}

// Difference says in a few words why have is not the record that a gate wants; empty if it is.
func Difference(have, want v1alpha1.ApprovalRecord) string {
	switch {
	case have.Namespace != want.Namespace || have.Release != want.Release:
		return fmt.Sprintf("it is for release %s/%s", have.Namespace, have.Release)
	case have.Revision != want.Revision:
		return "it is for revision " + have.Revision
	case have.Commit != want.Commit:
		return "it is for commit " + cmp.Or(have.Commit, "unknown")
	case have.Step != want.Step:
		return fmt.Sprintf("it is for step %d", have.Step+1)
	case have.Nonce != want.Nonce || want.Nonce == "":
		return "it is for another gate of this step"
	}
	return ""
}
