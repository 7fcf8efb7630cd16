package conformance

import (
	"path/filepath"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
)

const (
	passed   = v1alpha1.DecisionPassed
	waiting  = v1alpha1.DecisionWaiting
	rejected = v1alpha1.DecisionRejected
)

// recordFile is the record of the gate.
var recordFile = record.Path("shop", "web")

// merges are ways in which the gate's pull request ends.
var merges = map[string]Case{
	"open": {
		Reason: "nothing has happened", Policy: anybody, Act: func(*Scene) bool { return true }, Want: waiting, Says: "to be merged",
	},
	"merge-commit":  {Reason: "the merge is the approval", Policy: anybody, Act: merged("grace", Merge), Want: passed},
	"squash":        {Reason: "a squash is a merge", Policy: anybody, Act: merged("grace", Squash), Want: passed},
	"rebase":        {Reason: "a rebase is a merge", Policy: anybody, Act: merged("grace", Rebase), Want: passed},
	"branch-behind": moved(Merge), "branch-behind-squash": moved(Squash), "branch-behind-rebase": moved(Rebase),
	"later-pushes": {
		Reason: "what comes after the merge is no part of it", Policy: anybody, Want: passed,
		Act: func(s *Scene) bool {
			done := s.Merge("grace", s.number, Merge)
			s.Commit("ada", "ada", "main", "README", "later\n")
			return done
		},
	},
	"closed": {
		Reason: "a closing by one who may approve rejects", Policy: anybody, Want: rejected, Says: "closed by grace",
		Act: func(s *Scene) bool { s.Close("grace", s.number); return true },
	},
	"closed-by-unnamed": {
		Reason: "a closing by another rejects nothing", Policy: named, Want: waiting, Says: "is not one of the approvers",
		Act: func(s *Scene) bool { s.Close("eve", s.number); return true },
	},
	"reopened": {
		Reason: "what was closed and reopened waits", Policy: anybody, Want: waiting, Says: "to be merged",
		Act: func(s *Scene) bool { s.Close("grace", s.number); s.Reopen("grace", s.number); return true },
	},
	"reopened-and-merged": {
		Reason: "and can be merged", Policy: anybody, Want: passed,
		Act: func(s *Scene) bool {
			s.Close("eve", s.number)
			s.Reopen("grace", s.number)
			return s.Merge("grace", s.number, Merge)
		},
	},
	"reverted": {
		Reason: "an approval that was taken from the branch is none", Policy: anybody, Want: waiting, Says: "Git does not show its record",
		Act: func(s *Scene) bool {
			done := s.Merge("grace", s.number, Merge)
			s.Git("ada", "fetch", "-q", "origin")
			s.Git("ada", "checkout", "-q", "-B", "main", "origin/main")
			s.Git("ada", "rm", "-q", recordFile)
			s.Git("ada", "commit", "-q", "-m", "Take it back")
			s.Git("ada", "push", "-q", "origin", "main")
			return done
		},
	},
	"rewritten-away": {
		Reason: "a merge that was rewritten away is none", Policy: anybody, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			before := s.Head("main")
			done := s.Merge("grace", s.number, Merge)
			s.Git("ada", "push", "-q", "-f", "origin", before+":refs/heads/main")
			return done
		},
	},
	"other-record": {
		Reason: "the record that was changed before the merge is not ours", Policy: anybody, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Commit("eve", "eve", record.Branch(s.gate), recordFile, "nonce: other\n")
			return s.Merge("grace", s.number, Merge)
		},
	},
	"more-files": {
		Reason: "a pull request that changes more approves nothing", Policy: anybody, Want: waiting, Says: "touches 2 files",
		Act: func(s *Scene) bool {
			s.Commit("eve", "eve", record.Branch(s.gate), "web.yaml", "image: evil\n")
			return s.Merge("grace", s.number, Merge)
		},
	},
	"same-branch-elsewhere": {
		Reason: "a pull request into another branch is not the gate's", Policy: anybody, Want: waiting, Says: "to be merged",
		Act: func(s *Scene) bool {
			s.Git("eve", "fetch", "-q", "origin")
			s.Git("eve", "push", "-q", "origin", "origin/main:refs/heads/other")
			return s.Merge("eve", s.Open("eve", record.Branch(s.gate), "other"), Merge)
		},
	},
}

// moved has the tracked branch move on before the merge.
func moved(method Method) Case {
	return Case{
		Reason: "others may push meanwhile", Policy: anybody, Want: passed,
		Act: func(s *Scene) bool {
			s.Commit("ada", "ada", "main", filepath.Join("docs", "README"), "meanwhile\n")
			return s.Merge("grace", s.number, method)
		},
	}
}
