package conformance

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
)

// reviews are answers of reviewers.
var reviews = map[string]Case{
	"approved":        {Reason: "one approval is enough for one", Policy: reviewed, Act: reviewedBy("grace"), Want: passed},
	"approved-twice":  {Reason: "two approvals are enough for two", Policy: twice, Act: reviewedBy("grace", "eve"), Want: passed},
	"approved-once":   {Reason: "one approval is not enough for two", Policy: twice, Act: reviewedBy("grace"), Want: waiting, Says: "1 of 2 approvals is missing"},
	"approved-by-two": {Reason: "one who approves twice is one", Policy: twice, Act: reviewedBy("grace", "grace"), Want: waiting, Says: "1 of 2 approvals is missing"},
	"not-reviewed":    {Reason: "a merge without a review is none", Policy: reviewed, Act: merged("grace", Merge), Want: waiting, Says: "1 of 1 approvals is missing"},
	"commented": {
		Reason: "a comment is no approval", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Act: func(s *Scene) bool {
			s.Review("grace", s.number, Comment)
			return s.Merge("ada", s.number, Merge)
		},
	},
	"changes-requested": {
		Reason: "who takes an approval back has not approved", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Act: func(s *Scene) bool {
			s.Review("grace", s.number, Approve)
			s.Review("grace", s.number, RequestChanges)
			return s.Merge("ada", s.number, Merge)
		},
	},
	"approved-at-last": {
		Reason: "the last answer counts", Policy: reviewed, Want: passed,
		Act: func(s *Scene) bool {
			s.Review("grace", s.number, RequestChanges)
			s.Review("grace", s.number, Approve)
			return s.Merge("ada", s.number, Merge)
		},
	},
	"commented-after": {
		Reason: "a comment takes nothing back", Policy: reviewed, Want: passed,
		Act: func(s *Scene) bool {
			s.Review("grace", s.number, Approve)
			s.Review("grace", s.number, Comment)
			return s.Merge("ada", s.number, Merge)
		},
	},
	"dismissed": {
		Reason: "a dismissed review is none", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Needs: func(a Abilities) bool { return a.Dismissals },
		Act: func(s *Scene) bool {
			s.Join(Admin, "grace")
			s.Review("eve", s.number, Approve)
			s.Dismiss("grace", s.number, "eve")
			return s.Merge("ada", s.number, Merge)
		},
	},
	"stale": {
		Reason: "an approval of an older head is none of what was merged", Policy: reviewed, Want: waiting, Says: "",
		Act: func(s *Scene) bool {
			s.Review("grace", s.number, Approve)
			s.Git("eve", "fetch", "-q", "origin")
			s.Git("eve", "checkout", "-q", "-B", "again", "origin/"+record.Branch(s.gate))
			s.Git("eve", "commit", "-q", "--amend", "--reset-author", "-m", "Mine")
			s.Git("eve", "push", "-q", "-f", "origin", "again:"+record.Branch(s.gate))
			return s.Merge("ada", s.number, Merge)
		},
	},
	"after-the-merge": {
		Reason: "who approves after the merge still approves", Policy: reviewed, Want: passed,
		Needs: func(a Abilities) bool { return a.LateReviews },
		Act: func(s *Scene) bool {
			done := s.Merge("ada", s.number, Merge)
			s.Review("grace", s.number, Approve)
			return done
		},
	},
	"named":   {Reason: "the approval of one who is named counts", Policy: namedReview("grace"), Act: reviewedBy("grace"), Want: passed},
	"unnamed": {Reason: "the approval of another does not", Policy: namedReview("grace"), Act: reviewedBy("eve"), Want: waiting, Says: "eve is not one of the approvers"},
	"merged-by-unnamed": {
		Reason: "where the merge is the approval, only that of one who is named", Policy: named, Act: merged("eve", Merge),
		Want: waiting, Says: "by eve, who is not one of the approvers",
	},
	"merged-by-named": {Reason: "that of one who is named counts", Policy: named, Act: merged("grace", Merge), Want: passed},
	"nobody-named": {
		Reason: "a name that nobody has approves nothing", Policy: namedReview("nobody-there"), Act: reviewedBy("grace"), Want: waiting,
		Says: "is not one of the approvers",
	},
	"reader": {
		Reason: "who may only read does not approve", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Before: func(s *Scene) { s.Join(Read, "reader"); by("ada")(s) }, Act: reviewedBy("reader"),
	},
	"reader-who-is-named": {
		Reason: "to be named is not to be let write", Policy: namedReview("guest"), Want: waiting, Says: "1 of 1 approvals is missing",
		Before: func(s *Scene) { s.Join(Read, "guest"); by("ada")(s) }, Act: reviewedBy("guest"),
	},
	"lost-the-right": {
		Reason: "who may no longer write when it is decided does not approve", Policy: reviewed, Want: waiting, Says: "write access",
		Before: func(s *Scene) { s.Join(Write, "leaver"); by("ada")(s) },
		Act: func(s *Scene) bool {
			s.Review("leaver", s.number, Approve)
			s.Join(Read, "leaver")
			return s.Merge("ada", s.number, Merge)
		},
	},
	"renamed": {
		Reason: "an account that was renamed is the same", Policy: fourEyes, Want: passed,
		Needs:  func(a Abilities) bool { return a.Renames },
		Before: func(s *Scene) { s.Join(Write, "renamed-a"); by("ada")(s) },
		Act: func(s *Scene) bool {
			s.Review("renamed-a", s.number, Approve)
			s.Rename("renamed-a", "renamed-b")
			return s.Merge("ada", s.number, Merge)
		},
	},
	"deleted": {
		Reason: "an account that is gone approves nothing", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Needs:  func(a Abilities) bool { return a.Deletes },
		Before: func(s *Scene) { s.Join(Write, "gone-a"); by("ada")(s) },
		Act: func(s *Scene) bool {
			s.Review("gone-a", s.number, Approve)
			s.Delete("gone-a")
			return s.Merge("ada", s.number, Merge)
		},
	},
	"taken-over": {
		Reason: "the login of one who was deleted is another account", Policy: reviewed, Want: waiting, Says: "1 of 1 approvals is missing",
		Needs:  func(a Abilities) bool { return a.Deletes },
		Before: func(s *Scene) { s.Join(Write, "gone-b"); by("ada")(s) },
		Act: func(s *Scene) bool {
			s.Review("gone-b", s.number, Approve)
			s.Delete("gone-b")
			s.Join(Write, "gone-b")
			return s.Merge("ada", s.number, Merge)
		},
	},
	"bot": {
		Reason: "a program does not approve", Policy: reviewed, Want: waiting, Says: "is not a person",
		Needs: func(a Abilities) bool { return a.Programs },
		Act: func(s *Scene) bool {
			s.Review(s.Program("robot"), s.number, Approve)
			return s.Merge("ada", s.number, Merge)
		},
	},
	"bot-merges": {
		Reason: "where the merge is the approval a program gives none", Policy: anybody, Want: waiting, Says: "is not a person",
		Needs: func(a Abilities) bool { return a.Programs },
		Act:   func(s *Scene) bool { return s.Merge(s.Program("merger"), s.number, Merge) },
	},
	"own": {
		Reason: "Sluice's own merge approves nothing", Policy: anybody, Act: merged("sluice", Merge), Want: waiting, Says: "own account",
	},
}

func namedReview(logins ...string) v1alpha1.PullRequestGate {
	return v1alpha1.PullRequestGate{MinApprovals: 1, Approvers: logins}
}
