package conformance

import (
	"github.com/sluice-dev/sluice/forge/record"
)

// origins are ways in which the release itself came, where contributors must not approve.
var origins = map[string]Case{
	"pushed-and-approved-by-another": {Reason: "the release was pushed by ada, and grace approves", Policy: fourEyes, Act: reviewedBy("grace"), Want: passed},
	"pushed-and-merged-by-another":   {Reason: "the release was pushed by ada, and grace merges", Policy: another, Act: merged("grace", Merge), Want: passed},
	"approved-by-author":             {Reason: "the author does not approve", Policy: fourEyes, Before: by("eve"), Act: reviewedBy("eve"), Want: waiting, Says: "eve "},
	"merged-by-author":               {Reason: "nor merge, where that is the approval", Policy: another, Before: by("eve"), Act: merged("eve", Merge), Want: waiting, Says: "by eve, who "},
	"merged-the-change": {
		Reason: "who merged the change has looked at it, and may let it go on", Policy: another, Want: passed,
		Before: brings("eve", Merge, func(*Scene) {}), Act: merged("grace", Merge),
	},
	"merged-the-change-squashed": {
		Reason: "also where it was squashed", Policy: another, Want: passed,
		Before: brings("eve", Squash, func(*Scene) {}), Act: merged("grace", Merge),
	},
	"merged-the-change-rebased": {
		Reason: "or rebased", Policy: another, Want: passed,
		Before: brings("eve", Rebase, func(s *Scene) { s.Commit("eve", "eve", "change", "web.yaml", "image: web:2\n") }), Act: merged("grace", Merge),
	},
	"opened-the-change": {
		Reason: "who opened the pull request of the change is behind it", Policy: another, Want: waiting, Says: "by eve, who ",
		Before: brings("eve", Merge, func(*Scene) {}), Act: merged("eve", Merge),
	},
	"committed-to-the-change": {
		Reason: "who made commits of a pull request that another opened is behind it", Policy: another, Want: waiting, Says: "by eve, who ",
		Before: brings("ada", Merge, func(s *Scene) { s.Commit("eve", "eve", "change", "web.yaml", "image: evil\n") }), Act: merged("eve", Merge),
	},
	"later-commit": {
		Reason: "the release is all that came since, not its last commit", Policy: fourEyes, Want: waiting, Says: "eve ",
		Before: func(s *Scene) {
			s.Commit("eve", "eve", "main", "web.yaml", "image: evil\n")
			s.Commit("grace", "grace", "main", "README", "harmless\n")
		},
		Act: reviewedBy("eve"),
	},
	"approved-before": {
		Reason: "who merged an approval of an earlier step is not behind the release", Policy: another, Want: passed,
		Before: func(s *Scene) {
			s.Branch("sluice", "sluice", "sluice/earlier", record.Folder+"/other/api.yaml", "earlier: true\n")
			s.Merge("grace", s.Open("sluice", "sluice/earlier", "main"), Merge)
			by("ada")(s)
		},
		Act: merged("grace", Merge),
	},
	"unknown-stable": {
		Reason: "where the commit before is unknown nobody can tell", Policy: another, Want: waiting, Says: "unknown",
		Act: func(s *Scene) bool { s.gate.Spec.StableCommit = ""; return s.Merge("grace", s.number, Merge) },
	},
	"co-author": {
		Reason: "a co-author contributed to the release", Policy: another, Want: waiting, Says: "by eve, who ",
		Before: func(s *Scene) {
			s.Commit("eve", "eve", "main", "README", "first\n")
			s.Git("ada", "fetch", "-q", "origin")
			s.Git("ada", "checkout", "-q", "-B", "main", "origin/main")
			s.Git("ada", "commit", "-q", "--allow-empty", "-m", "Together\n\nCo-authored-by: eve <eve@"+s.domain+">")
			s.Git("ada", "push", "-q", "origin", "main")
		},
		Act: merged("eve", Merge),
	},
}

// attacks are attempts to get past the rules.
var attacks = map[string]Case{
	"forged-author": {
		Reason: "who pushed contributed to the release, whoever the commit names", Policy: another, Want: waiting, Says: "by eve, who pushed the release",
		Before: forges("main", "grace"), Act: merged("eve", Merge),
	},
	"forged-author-frames": {
		Reason: "a name in a commit keeps somebody out, and nothing else", Policy: another, Want: waiting, Says: "by grace, who ",
		Before: forges("main", "grace"), Act: merged("grace", Merge),
	},
	"forged-commits-of-the-change": {
		Reason: "who pushed to a pull request is behind it, in whoever's name", Policy: another, Want: waiting, Says: "by eve, who pushed to pull request",
		Before: brings("ada", Squash, forges("change", "ada")), Act: merged("eve", Merge),
	},
	"merge-of-ones-own": {
		Reason: "a merge that was made at home is a push", Policy: another, Want: waiting, Says: "eve",
		Before: func(s *Scene) {
			s.Branch("ada", "ada", "change", "web.yaml", "image: web:2\n")
			s.Open("ada", "change", "main")
			forges("change", "ada")(s)
			s.Git("eve", "push", "-q", "origin", "change:main")
		},
		Act: merged("eve", Merge),
	},
	"pushed-back-and-forth": {
		Reason: "who pushed can't be washed out by moving the branch", Policy: another, Want: waiting, Says: "eve",
		Before: func(s *Scene) {
			before := s.Head("main")
			forges("main", "ada")(s)
			evil := s.Head("main")
			s.Git("eve", "push", "-q", "-f", "origin", before+":refs/heads/main")
			s.Git("ada", "fetch", "-q", "origin")
			s.Git("ada", "push", "-q", "origin", evil+":refs/heads/main")
		},
		Act: merged("eve", Merge),
	},
	"pushed-below-and-back": {
		Reason: "nor by moving it to before what ran", Policy: another, Want: waiting, Says: "eve",
		Earlier: func(s *Scene) { s.Commit("ada", "ada", "main", "README", "docs\n") },
		Before: func(s *Scene) {
			stable := s.Head("main")
			forges("main", "ada")(s)
			evil := s.Head("main")
			s.Git("eve", "push", "-q", "-f", "origin", stable+"~1:refs/heads/main")
			s.Git("eve", "push", "-q", "origin", stable+":refs/heads/main")
			s.Git("ada", "fetch", "-q", "origin")
			s.Git("ada", "push", "-q", "origin", evil+":refs/heads/main")
		},
		Act: merged("eve", Merge),
	},
	"merged-elsewhere": {
		Reason: "who pushes what they merged into another branch has pushed it", Policy: another, Want: waiting, Says: "eve",
		Before: func(s *Scene) {
			stable := s.Head("main")
			s.Branch("ada", "ada", "change", "web.yaml", "image: web:2\n")
			s.Git("eve", "fetch", "-q", "origin")
			s.Git("eve", "push", "-q", "origin", stable+":refs/heads/other")
			if !s.Merge("eve", s.Open("ada", "change", "other"), Merge) {
				s.Skip("the forge has no such method")
			}
			s.Git("eve", "fetch", "-q", "origin")
			s.Git("eve", "push", "-q", "origin", "origin/other:main")
			s.Commit("ada", "ada", "main", "README", "docs\n")
		},
		Act: merged("eve", Merge),
	},
	"rides-in-another-merge": {
		Reason: "an approval that comes along with something else approves nothing", Policy: named, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Git("eve", "fetch", "-q", "origin")
			s.Git("eve", "checkout", "-q", "-B", "docs", "origin/"+record.Branch(s.gate))
			s.commit("eve", "eve", "docs", "README", "docs\n")
			return s.Merge("grace", s.Open("eve", "docs", "main"), Merge)
		},
	},
	"rides-in-a-push": {
		Reason: "nor one that is pushed along with something else", Policy: named, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Git("grace", "fetch", "-q", "origin")
			s.Git("grace", "checkout", "-q", "-B", "docs", "origin/"+record.Branch(s.gate))
			s.commit("grace", "grace", "docs", "README", "docs\n")
			s.Git("grace", "push", "-q", "origin", "docs:main")
			return true
		},
	},
	"record-by-hand": {
		Reason: "a record that somebody commits approves nothing", Policy: anybody, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Commit("eve", "eve", "main", recordFile, string(record.Format(record.Of(s.gate))))
			return true
		},
	},
	"record-from-another": {
		Reason: "nor one that comes by a pull request of somebody else", Policy: anybody, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Branch("eve", "eve", "mine", recordFile, string(record.Format(record.Of(s.gate))))
			return s.Merge("grace", s.Open("eve", "mine", "main"), Merge)
		},
	},
	"record-from-a-fork": {
		Reason: "nor one of a fork, with the name of the gate's branch", Policy: anybody, Want: waiting, Says: "",
		Needs: func(a Abilities) bool { return a.Forks },
		Act: func(s *Scene) bool {
			s.Join(Read, "forker")
			address := s.Fork("forker")
			s.Git("ada", "fetch", "-q", "origin")
			branch := record.Branch(s.gate)
			s.Git("ada", "push", "-q", address, "origin/"+branch+":refs/heads/"+branch)
			return s.Merge("grace", s.Open("forker", "forker:"+branch, "main"), Merge)
		},
	},
	"committed-to-the-approval": {
		Reason: "who made a commit of the gate's own pull request does not approve it", Policy: another, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			branch := record.Branch(s.gate)
			s.Git("grace", "fetch", "-q", "origin")
			s.Git("grace", "checkout", "-q", "-B", "mine", "origin/"+branch)
			s.Git("grace", "commit", "-q", "--allow-empty", "-m", "Mine")
			s.Git("grace", "push", "-q", "origin", "mine:"+branch)
			return s.Merge("grace", s.number, Merge)
		},
	},
	"branch-taken": {
		Reason: "a branch that somebody made first is set again", Policy: anybody, Want: passed,
		Act: func(s *Scene) bool {
			s.gate.Spec.Nonce = "00000000000000000000000000"
			s.Branch("eve", "eve", record.Branch(s.gate), "web.yaml", "image: evil\n")
			pull := s.open()
			s.number = pull.Number
			opened := s.gate.Status.PullRequest
			opened.Number, opened.Branch, opened.Head = int64(pull.Number), record.Branch(s.gate), pull.Written
			return s.Merge("grace", s.number, Merge)
		},
	},
}
