package gate

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The limits of what gates wait for on a forge; the CRD has the same.
const (
	maxApprovals   = 10
	maxApprovers   = 50
	maxTeams       = 20
	maxTrusted     = 20
	maxCreators    = 20
	maxConclusions = 3
	maxLogin       = 100
	maxTeam        = 200
	maxContext     = 255
	maxCheck       = 255
	maxApp         = 100
)

// What names can be: on github.com, on GitHub Enterprise Server with its managed users, on Gitea,
// and on GitLab, whose groups may be in groups.
var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(\[bot\])?(#[1-9][0-9]{0,18})?$`)
	teamForm  = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]*/)*[A-Za-z0-9_][A-Za-z0-9._-]*(#[1-9][0-9]{0,18})?$`)
	appForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*(#[1-9][0-9]{0,18})?$`)
)

const (
	noLogin = "is not a login such as octocat, or renovate[bot] for an app"
	noTeam  = "is not a team's slug such as reviewers or octo-org/reviewers"
	noApp   = "is not an app's slug such as github-actions"
)

func validatePullRequest(policy *v1alpha1.PullRequestGate, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if policy.MinApprovals < 0 || policy.MinApprovals > maxApprovals {
		problems = append(problems, field.Invalid(path.Child("minApprovals"), policy.MinApprovals, "must be from 0 to 10"))
	}
	problems = append(problems, validateLogins(policy.Approvers, maxApprovers, path.Child("approvers"))...)
	problems = append(problems, validateLogins(policy.TrustedPushers, maxTrusted, path.Child("trustedPushers"))...)
	if len(policy.TrustedPushers) > 0 && !policy.ForbidSelfApproval {
		problems = append(problems, field.Invalid(path.Child("trustedPushers"), policy.TrustedPushers,
			"has no effect without forbidSelfApproval: set that too, or remove trustedPushers"))
	}
	return append(problems, validateNames(policy.Teams, maxTeams, path.Child("teams"), func(team string, at *field.Path) field.ErrorList {
		return validateName(team, maxTeam, at, teamForm, noTeam)
	})...)
}

func validateCommitStatus(policy *v1alpha1.CommitStatusGate, path *field.Path) field.ErrorList {
	problems := validateName(policy.Context, maxContext, path.Child("context"), nil, "")
	creators := path.Child("creators")
	if len(policy.Creators) == 0 {
		return append(problems, field.Required(creators, "anyone with write access to the repository can post any status: name whose statuses count"))
	}
	return append(problems, validateLogins(policy.Creators, maxCreators, creators)...)
}

func validateCheckRun(policy *v1alpha1.CheckRunGate, path *field.Path) field.ErrorList {
	problems := validateName(policy.Name, maxCheck, path.Child("name"), nil, "")
	problems = append(problems, validateName(policy.App, maxApp, path.Child("app"), appForm, noApp)...)
	conclusions := path.Child("conclusions")
	if len(policy.Conclusions) > maxConclusions {
		problems = append(problems, field.TooMany(conclusions, len(policy.Conclusions), maxConclusions))
	}
	allowed := []v1alpha1.CheckConclusion{v1alpha1.CheckSuccess, v1alpha1.CheckNeutral, v1alpha1.CheckSkipped}
	for i, conclusion := range policy.Conclusions {
		switch at := conclusions.Index(i); {
		case !slices.Contains(allowed, conclusion):
			problems = append(problems, field.NotSupported(at, conclusion, allowed))
		case slices.Contains(policy.Conclusions[:i], conclusion):
			problems = append(problems, field.Duplicate(at, conclusion))
		}
	}
	return problems
}

func validateLogins(logins []string, most int, path *field.Path) field.ErrorList {
	return validateNames(logins, most, path, func(login string, at *field.Path) field.ErrorList {
		return validateName(login, maxLogin, at, loginForm, noLogin)
	})
}

// validateNames validates each of a list that may have so many.
func validateNames(names []string, most int, path *field.Path, validate func(string, *field.Path) field.ErrorList) field.ErrorList {
	var problems field.ErrorList
	if len(names) > most {
		problems = append(problems, field.TooMany(path, len(names), most))
	}
	for i, name := range names {
		problems = append(problems, validate(name, path.Index(i))...)
	}
	return problems
}

// validateName checks that a name is given, is not too long, in characters, and has the form, if
// there is one.
func validateName(name string, longest int, path *field.Path, form *regexp.Regexp, otherwise string) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "must not be empty")}
	case utf8.RuneCountInString(name) > longest:
		return field.ErrorList{field.TooLongCharacters(path, name, longest)}
	case form != nil && !form.MatchString(name):
		return field.ErrorList{field.Invalid(path, name, otherwise)}
	}
	return nil
}
