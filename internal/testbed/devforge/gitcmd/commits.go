package gitcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Signature says who made a commit, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// Commit is a commit as it is stored.
type Commit struct {
	SHA, Tree         string
	Parents           []string
	Author, Committer Signature
	Message           string
}

// logFormat has a line for each field but the message, which is last and may have many.
const (
	logFormat = "--format=%H%n%T%n%P%n%an%n%ae%n%aI%n%cn%n%ce%n%cI%n%B"
	logFields = 10
)

// Log lists commits, newest first. The arguments are git log's own.
func (r *Repository) Log(ctx context.Context, args ...string) ([]Commit, error) {
	out, err := r.output(ctx, call{args: append([]string{"log", "-z", logFormat}, args...)})
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	return parseCommits(out)
}

// parseCommits reads what git log prints.
func parseCommits(out string) ([]Commit, error) {
	var commits []Commit
	for record := range strings.SplitSeq(out, "\x00") {
		if record == "" {
			continue
		}
		commit, err := parseCommit(record)
		if err != nil {
			return nil, err
		}
		commits = append(commits, commit)
	}
	return commits, nil
}

// Commit reads one commit by its object name.
func (r *Repository) Commit(sha string) (Commit, error) {
	found, err := object.GetCommit(r.stored(), plumbing.NewHash(sha))
	if err != nil {
		return Commit{}, fmt.Errorf("read commit %s: %w", sha, err)
	}
	commit := Commit{
		SHA: sha, Tree: found.TreeHash.String(),
		Author:    Signature(found.Author),
		Committer: Signature(found.Committer),
		Message:   strings.TrimRight(found.Message, "\n"),
	}
	for _, parent := range found.ParentHashes {
		commit.Parents = append(commit.Parents, parent.String())
	}
	return commit, nil
}

func parseCommit(record string) (Commit, error) {
	fields := strings.SplitN(record, "\n", logFields)
	if len(fields) < logFields {
		return Commit{}, fmt.Errorf("parse commit: %d of %d fields", len(fields), logFields)
	}
	authored, err := time.Parse(time.RFC3339, fields[5])
	if err != nil {
		return Commit{}, fmt.Errorf("parse author's time: %w", err)
	}
	committed, err := time.Parse(time.RFC3339, fields[8])
	if err != nil {
		return Commit{}, fmt.Errorf("parse committer's time: %w", err)
	}
	return Commit{
		SHA: fields[0], Tree: fields[1], Parents: strings.Fields(fields[2]),
		Author:    Signature{fields[3], fields[4], authored},
		Committer: Signature{fields[6], fields[7], committed},
		Message:   strings.TrimRight(fields[9], "\n"),
	}, nil
}

// Write stores a commit; its SHA is not looked at. No ref moves.
func (r *Repository) Write(ctx context.Context, c Commit) (string, error) {
	args := []string{"commit-tree", c.Tree}
	for _, parent := range c.Parents {
		args = append(args, "-p", parent)
	}
	out, err := r.output(ctx, call{
		args: append(args, "-F", "-"),
		env: append(signatureEnv("AUTHOR", c.Author),
			signatureEnv("COMMITTER", c.Committer)...),
		stdin: strings.NewReader(c.Message),
	})
	if err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	return strings.TrimSpace(out), nil
}

func signatureEnv(role string, s Signature) []string {
	return []string{
		"GIT_" + role + "_NAME=" + s.Name,
		"GIT_" + role + "_EMAIL=" + s.Email,
		"GIT_" + role + "_DATE=" + s.When.Format(time.RFC3339),
	}
}
