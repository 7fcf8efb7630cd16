package gitea

import (
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/coauthors"
	"github.com/sluice-dev/sluice/forge/proposals"
)

// The parts of Gitea's answers that are of use.
type (
	user struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Email string `json:"email"`
	}
	repository struct {
		ID            int64  `json:"id"`
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
		// ManualMerge and Autodetect let people mark a push as the merge of a pull request.
		ManualMerge bool `json:"allow_manual_merge"`
		Autodetect  bool `json:"autodetect_manual_merge"`
		Permissions struct {
			Admin bool `json:"admin"`
			Push  bool `json:"push"`
			Pull  bool `json:"pull"`
		} `json:"permissions"`
	}
	end struct {
		Label string `json:"label"`
		SHA   string `json:"sha"`
		Repo  int64  `json:"repo_id"`
	}
	pull struct {
		Number      int       `json:"number"`
		URL         string    `json:"html_url"`
		Title       string    `json:"title"`
		Body        string    `json:"body"`
		State       string    `json:"state"`
		User        *user     `json:"user"`
		Base        end       `json:"base"`
		Head        end       `json:"head"`
		Created     time.Time `json:"created_at"`
		Updated     time.Time `json:"updated_at"`
		Closed      time.Time `json:"closed_at"`
		Merged      bool      `json:"merged"`
		MergedAt    time.Time `json:"merged_at"`
		MergedBy    *user     `json:"merged_by"`
		MergeCommit string    `json:"merge_commit_sha"`
	}
	review struct {
		ID        int64     `json:"id"`
		User      *user     `json:"user"`
		State     string    `json:"state"`
		CommitID  string    `json:"commit_id"`
		Official  bool      `json:"official"`
		Dismissed bool      `json:"dismissed"`
		Submitted time.Time `json:"submitted_at"`
		URL       string    `json:"html_url"`
	}
	file struct {
		Name     string `json:"filename"`
		Previous string `json:"previous_filename"`
		Status   string `json:"status"`
	}
	person struct {
		Email string `json:"email"`
	}
	commit struct {
		SHA       string `json:"sha"`
		Author    *user  `json:"author"`
		Committer *user  `json:"committer"`
		Commit    struct {
			Author       person `json:"author"`
			Message      string `json:"message"`
			Verification struct {
				Verified bool   `json:"verified"`
				Reason   string `json:"reason"`
				Signer   *struct {
					Username string `json:"username"`
				} `json:"signer"`
			} `json:"verification"`
		} `json:"commit"`
		Parents []struct {
			SHA string `json:"sha"`
		} `json:"parents"`
		Files []file `json:"files"`
	}
	status struct {
		ID          int64     `json:"id"`
		Context     string    `json:"context"`
		State       string    `json:"status"`
		Description string    `json:"description"`
		TargetURL   string    `json:"target_url"`
		Creator     *user     `json:"creator"`
		Created     time.Time `json:"created_at"`
	}
	content struct {
		Type     string `json:"type"`
		SHA      string `json:"sha"`
		Encoding string `json:"encoding"`
		Content  string `json:"content"`
	}
	comment struct {
		User *user  `json:"user"`
		Body string `json:"body"`
	}
)

// account returns who a user is. Deleted accounts and those of Gitea itself have numbers below 1:
// they are nobody.
func (u *user) account() forge.Account {
	if u == nil || u.ID < 1 {
		return forge.Account{}
	}
	return forge.Account{ID: u.ID, Login: u.Login, Type: forge.TypeUser}
}

func (p *pull) pullRequest() forge.PullRequest {
	made := forge.PullRequest{
		Number: p.Number, URL: p.URL, Title: p.Title, Body: p.Body, State: forge.PullState(p.State), Author: p.User.account(),
		Base:      forge.Branch{Ref: p.Base.Label, SHA: p.Base.SHA, RepositoryID: p.Base.Repo},
		Head:      forge.Branch{Ref: p.Head.Label, SHA: p.Head.SHA, RepositoryID: max(p.Head.Repo, 0)},
		CreatedAt: p.Created, UpdatedAt: p.Updated, ClosedAt: p.Closed, Merged: p.Merged,
	}
	if p.Merged {
		made.MergedAt, made.MergedBy, made.MergeCommit = p.MergedAt, p.MergedBy.account(), p.MergeCommit
	}
	return made
}

// review returns a review. An approval that the forge does not count, as of one who may only read,
// is none.
func (r *review) review() forge.Review {
	state := forge.ReviewCommented
	switch {
	case r.Dismissed:
		state = forge.ReviewDismissed
	case r.State == "APPROVED" && r.Official:
		state = forge.ReviewApproved
	case r.State == "APPROVED":
		state = forge.ReviewUnofficial
	case r.State == "REQUEST_CHANGES":
		state = forge.ReviewChangesRequested
	case r.State == "PENDING":
		state = forge.ReviewPending
	}
	return forge.Review{
		ID: r.ID, Reviewer: r.User.account(), State: state, CommitID: r.CommitID, Belongs: r.Official, SubmittedAt: r.Submitted, URL: r.URL,
	}
}

func (f *file) changed() forge.ChangedFile {
	made := forge.ChangedFile{Path: f.Name, PreviousPath: f.Previous, Status: forge.FileStatus(f.Status)}
	switch f.Status {
	case "changed":
		made.Status = forge.FileModified
	case "deleted":
		made.Status = forge.FileRemoved
	}
	return made
}

// commit returns a commit. A signature answers for it only if it is that of the committer.
func (c *commit) commit() forge.Commit {
	made := forge.Commit{
		SHA: c.SHA, Author: c.Author.account(), Committer: c.Committer.account(), AuthorAddress: c.Commit.Author.Email,
		CoAuthors: coauthors.Of(c.Commit.Message), Verification: c.Commit.Verification.Reason,
	}
	signer := c.Commit.Verification.Signer
	made.Verified = c.Commit.Verification.Verified && signer != nil && made.Committer.Known() && signer.Username == made.Committer.Login
	for _, parent := range c.Parents {
		made.Parents = append(made.Parents, parent.SHA)
	}
	return made
}

func (s *status) status(sha string) forge.Status {
	state := forge.State(s.State)
	switch s.State {
	case "pending", "success", "failure", "error":
	case "warning", "skipped":
		state = forge.StateFailure // Gitea takes them for a success, and nobody has said so
	default:
		state = forge.StateError
	}
	return forge.Status{
		ID: s.ID, SHA: sha, Context: s.Context, State: state, Description: s.Description, TargetURL: s.TargetURL,
		Creator: s.Creator.account(), CreatedAt: s.Created,
	}
}

func (c *comment) comment() proposals.Comment {
	return proposals.Comment{By: c.User.account(), Text: c.Body}
}
