package gitlab

import (
	"regexp"
	"time"

	"github.com/sluice-dev/sluice/forge"
)

// The parts of GitLab's answers that are of use.
type (
	user struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
		State    string `json:"state"`
		// Bot is told of single accounts, and to those who are signed in.
		Bot         *bool  `json:"bot"`
		PublicEmail string `json:"public_email"`
		Email       string `json:"email"`
		CommitEmail string `json:"commit_email"`
	}
	project struct {
		ID            int64  `json:"id"`
		FullName      string `json:"path_with_namespace"`
		DefaultBranch string `json:"default_branch"`
		MergeMethod   string `json:"merge_method"`
		RemoveSource  bool   `json:"remove_source_branch_after_merge"`
	}
	mergeRequest struct {
		Number       int       `json:"iid"`
		URL          string    `json:"web_url"`
		Title        string    `json:"title"`
		Description  string    `json:"description"`
		State        string    `json:"state"`
		Author       *user     `json:"author"`
		Source       string    `json:"source_branch"`
		SourceID     int64     `json:"source_project_id"`
		Target       string    `json:"target_branch"`
		TargetID     int64     `json:"target_project_id"`
		SHA          string    `json:"sha"`
		MergeCommit  string    `json:"merge_commit_sha"`
		SquashCommit string    `json:"squash_commit_sha"`
		MergeUser    *user     `json:"merge_user"`
		MergedAt     time.Time `json:"merged_at"`
		ClosedBy     *user     `json:"closed_by"`
		ClosedAt     time.Time `json:"closed_at"`
		Created      time.Time `json:"created_at"`
		Updated      time.Time `json:"updated_at"`
		DiffRefs     *struct {
			Base string `json:"base_sha"`
		} `json:"diff_refs"`
	}
	approvals struct {
		By []struct {
			User *user     `json:"user"`
			At   time.Time `json:"approved_at"`
		} `json:"approved_by"`
	}
	// version is a head that a merge request has had.
	version struct {
		ID      int64     `json:"id"`
		Head    string    `json:"head_commit_sha"`
		Created time.Time `json:"created_at"`
	}
	file struct {
		Path     string `json:"new_path"`
		Previous string `json:"old_path"`
		New      bool   `json:"new_file"`
		Renamed  bool   `json:"renamed_file"`
		Deleted  bool   `json:"deleted_file"`
	}
	commit struct {
		SHA            string   `json:"id"`
		Parents        []string `json:"parent_ids"`
		Message        string   `json:"message"`
		AuthorEmail    string   `json:"author_email"`
		CommitterEmail string   `json:"committer_email"`
	}
	status struct {
		ID          int64     `json:"id"`
		SHA         string    `json:"sha"`
		Name        string    `json:"name"`
		Status      string    `json:"status"`
		Description string    `json:"description"`
		TargetURL   string    `json:"target_url"`
		Author      *user     `json:"author"`
		Created     time.Time `json:"created_at"`
		Started     time.Time `json:"started_at"`
	}
	content struct {
		SHA      string `json:"blob_id"`
		Encoding string `json:"encoding"`
		Content  string `json:"content"`
	}
	note struct {
		Author *user  `json:"author"`
		Body   string `json:"body"`
		System bool   `json:"system"`
	}
	event struct {
		ID     int64     `json:"id"`
		Author *user     `json:"author"`
		At     time.Time `json:"created_at"`
		Push   *struct {
			Action string `json:"action"`
			Type   string `json:"ref_type"`
			Ref    string `json:"ref"`
			// Refs counts the refs of a push that moved several.
			Refs   int    `json:"ref_count"`
			Before string `json:"commit_from"`
			After  string `json:"commit_to"`
		} `json:"push_data"`
	}
)

var (
	// ghost is the account that has what deleted ones have done. The number is of servers on which the
	// name was taken.
	ghost = regexp.MustCompile(`^ghost[0-9]*$`)
	// tokenBot is the account of an access token of a project or a group.
	tokenBot = regexp.MustCompile(`^(project|group)_[0-9]+_bot`)
)

// account returns who a user is. It has a type only if GitLab tells whether it is a bot's.
func (u *user) account() forge.Account {
	if u == nil || u.ID < 1 || ghost.MatchString(u.Username) {
		return forge.Account{}
	}
	who := forge.Account{ID: u.ID, Login: u.Username}
	switch {
	case tokenBot.MatchString(u.Username), u.Bot != nil && *u.Bot:
		who.Type = forge.TypeBot
	case u.Bot != nil:
		who.Type = forge.TypeUser
	}
	return who
}

func (p *project) repository() forge.Repository {
	return forge.Repository{ID: p.ID, FullName: p.FullName, DefaultBranch: p.DefaultBranch}
}

// result returns the head of the target branch after the merge. A fast-forward has no commit of its
// own but the squashed one or the head itself.
func (m *mergeRequest) result() string {
	switch {
	case m.MergeCommit != "":
		return m.MergeCommit
	case m.SquashCommit != "":
		return m.SquashCommit
	}
	return m.SHA
}

func (m *mergeRequest) pullRequest() forge.PullRequest {
	made := forge.PullRequest{
		Number: m.Number, URL: m.URL, Title: m.Title, Body: m.Description, State: forge.PullClosed, Author: m.Author.account(),
		Base:      forge.Branch{Ref: m.Target, RepositoryID: m.TargetID},
		Head:      forge.Branch{Ref: m.Source, SHA: m.SHA, RepositoryID: m.SourceID},
		CreatedAt: m.Created, UpdatedAt: m.Updated,
	}
	switch m.State {
	case "merged":
		made.Merged, made.MergedAt, made.ClosedAt = true, m.MergedAt, m.MergedAt
		made.MergedBy, made.MergeCommit = m.MergeUser.account(), m.result()
	case "closed":
		made.ClosedAt, made.ClosedBy = m.ClosedAt, m.ClosedBy.account()
	default: // one that is being merged is locked
		made.State = forge.PullOpen
	}
	return made
}

func (f *file) changed() forge.ChangedFile {
	made := forge.ChangedFile{Path: f.Path, Status: forge.FileModified}
	switch {
	case f.Renamed:
		made.Status, made.PreviousPath = forge.FileRenamed, f.Previous
	case f.New:
		made.Status = forge.FileAdded
	case f.Deleted:
		made.Status = forge.FileRemoved
	}
	return made
}

// states maps what a status or a job can be. What is left out has ended without success, or waits.
var states = map[string]forge.State{
	"success": forge.StateSuccess, "failed": forge.StateFailure,
	"created": forge.StatePending, "waiting_for_resource": forge.StatePending, "preparing": forge.StatePending,
	"pending": forge.StatePending, "running": forge.StatePending, "scheduled": forge.StatePending, "manual": forge.StatePending,
}

func (s *status) status() forge.Status {
	state, known := states[s.Status]
	if !known {
		state = forge.StateError
	}
	return forge.Status{
		ID: s.ID, SHA: s.SHA, Context: s.Name, State: state, Description: s.Description, TargetURL: s.TargetURL,
		Creator: s.Author.account(), CreatedAt: s.Created,
	}
}
