package github

import (
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/coauthors"
)

// convert turns a list of the forge into values.
func convert[From, To any](from []From, one func(From) To) []To {
	to := make([]To, 0, len(from))
	for _, item := range from {
		to = append(to, one(item))
	}
	return to
}

func account(u *github.User) forge.Account {
	return forge.Account{ID: u.GetID(), Login: u.GetLogin(), Type: forge.AccountType(u.GetType())}
}

func pullRequest(p *github.PullRequest) forge.PullRequest {
	return forge.PullRequest{
		Number:    p.GetNumber(),
		URL:       p.GetHTMLURL(),
		Title:     p.GetTitle(),
		Body:      p.GetBody(),
		State:     forge.PullState(p.GetState()),
		Author:    account(p.GetUser()),
		Base:      branch(p.GetBase()),
		Head:      branch(p.GetHead()),
		CreatedAt: p.GetCreatedAt().Time,
		UpdatedAt: p.GetUpdatedAt().Time,
		ClosedAt:  p.GetClosedAt().Time,
		// Lists have the time only.
		Merged:      p.GetMerged() || !p.GetMergedAt().IsZero(),
		MergedAt:    p.GetMergedAt().Time,
		MergedBy:    account(p.GetMergedBy()),
		MergeCommit: mergeCommit(p),
	}
}

// mergeCommit hides the commit with which the forge tries out a merge that has not happened.
func mergeCommit(p *github.PullRequest) string {
	if p.GetMergedAt().IsZero() {
		return ""
	}
	return p.GetMergeCommitSHA()
}

func branch(b *github.PullRequestBranch) forge.Branch {
	return forge.Branch{Ref: b.GetRef(), SHA: b.GetSHA(), RepositoryID: b.GetRepo().GetID()}
}

func changedFile(f *github.CommitFile) forge.ChangedFile {
	return forge.ChangedFile{
		Path:         f.GetFilename(),
		PreviousPath: f.GetPreviousFilename(),
		Status:       forge.FileStatus(f.GetStatus()),
		BlobSHA:      f.GetSHA(),
	}
}

func review(r *github.PullRequestReview) forge.Review {
	return forge.Review{
		ID:          r.GetID(),
		Reviewer:    account(r.GetUser()),
		State:       forge.ReviewState(r.GetState()),
		CommitID:    r.GetCommitID(),
		Belongs:     slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, r.GetAuthorAssociation()),
		SubmittedAt: r.GetSubmittedAt().Time,
		URL:         r.GetHTMLURL(),
	}
}

func commit(c *github.RepositoryCommit) forge.Commit {
	verification := c.GetCommit().GetVerification()
	made := forge.Commit{
		SHA:           c.GetSHA(),
		Author:        account(c.GetAuthor()),
		Committer:     account(c.GetCommitter()),
		AuthorAddress: c.GetCommit().GetAuthor().GetEmail(),
		CoAuthors:     coauthors.Of(c.GetCommit().GetMessage()),
		Verified:      verification.GetVerified(),
		Verification:  verification.GetReason(),
	}
	for _, parent := range c.Parents {
		made.Parents = append(made.Parents, parent.GetSHA())
	}
	return made
}

func status(sha string) func(*github.RepoStatus) forge.Status {
	return func(s *github.RepoStatus) forge.Status {
		return forge.Status{
			ID:          s.GetID(),
			SHA:         sha,
			Context:     s.GetContext(),
			State:       forge.State(s.GetState()),
			Description: s.GetDescription(),
			TargetURL:   s.GetTargetURL(),
			Creator:     account(s.GetCreator()),
			CreatedAt:   s.GetCreatedAt().Time,
		}
	}
}

func checkRun(r *github.CheckRun) forge.CheckRun {
	return forge.CheckRun{
		ID:          r.GetID(),
		Name:        r.GetName(),
		App:         forge.App{ID: r.GetApp().GetID(), Slug: r.GetApp().GetSlug()},
		HeadSHA:     r.GetHeadSHA(),
		Status:      forge.CheckStatus(r.GetStatus()),
		Conclusion:  forge.Conclusion(r.GetConclusion()),
		URL:         r.GetHTMLURL(),
		StartedAt:   r.GetStartedAt().Time,
		CompletedAt: r.GetCompletedAt().Time,
	}
}

func deployment(d *github.Deployment) forge.Deployment {
	return forge.Deployment{ID: d.GetID(), SHA: d.GetSHA(), Task: d.GetTask(), Environment: d.GetEnvironment()}
}
