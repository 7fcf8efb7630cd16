package forge

import (
	"strconv"
	"strings"
)

// AccountType tells people from programs.
type AccountType string

// The types of account.
const (
	TypeUser         AccountType = "User"
	TypeBot          AccountType = "Bot"
	TypeOrganization AccountType = "Organization"
)

// Account is a person, an app or an organization on the forge.
type Account struct {
	// ID never changes and is never used again; 0 is an account that is not known.
	ID int64
	// Login is for people to read.
	Login string
	Type  AccountType
}

// Known reports whether the forge knows whose account it is.
func (a Account) Known() bool { return a.ID != 0 }

// Same reports whether both are known to be the same account.
func (a Account) Same(other Account) bool { return a.Known() && a.ID == other.ID }

// Team is a team of an organization with everybody who is in it.
type Team struct {
	// ID never changes and is never used again. A slug becomes free when its team is renamed or
	// deleted, and GitHub lets any member of an organization make a team of a free slug unless its
	// owners forbid that.
	ID           int64
	Organization string
	Slug         string
	Members      []Account
}

// Name returns organization/slug.
func (t Team) Name() string { return t.Organization + "/" + t.Slug }

// Repository is the repository of a release.
type Repository struct {
	ID int64
	// FullName is owner/name.
	FullName string
	// DefaultBranch is the branch that the forge shows first.
	DefaultBranch string
	// DeleteBranchOnMerge is set where the forge removes the branch of a pull request that is merged.
	// It shows that to those alone who may write.
	DeleteBranchOnMerge bool
}

// Numbered takes apart a name with a number behind it, such as octocat#583231, which means that
// account alone. It reports false for a name without one.
func Numbered(name string) (bare string, id int64, numbered bool) {
	bare, number, found := strings.Cut(name, "#")
	id, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || id <= 0 {
		return name, 0, false
	}
	return bare, id, true
}
