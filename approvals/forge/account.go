package forge

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
	Organization string
	Slug         string
	Members      []Account
}

// Repository is where a release comes from.
type Repository struct {
	ID int64
	// FullName is owner/name.
	FullName string
	// DefaultBranch is what people see first.
	DefaultBranch string
	// DeleteBranchOnMerge is set where the forge removes the branch of a pull request that is merged.
	// It shows that to those alone who may write.
	DeleteBranchOnMerge bool
}
