package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Repository is one that is checked from here, with the credentials that are given.
type Repository struct {
	// Of begins the subject of each finding; it may be empty.
	Of     string
	Source gitrepo.Source
	Git    gitrepo.Options
	// Path is the folder to read, and Manifests are the rules for it.
	Path      string
	Manifests spec.Options
}

// Check reads the tip of the branch, and the manifests in it, as the controller would.
func (r *Repository) Check(ctx context.Context) []Finding {
	reader, wanted := gitrepo.NewReader(r.Git), &spec.Wanted{Folder: r.Path, Whole: r.Manifests.Helm != nil}
	for range spec.Rounds {
		source := r.Source
		source.Reads = wanted.Reads()
		head, err := reader.Read(ctx, source, gitrepo.Known{})
		if err != nil {
			return []Finding{{Failed, r.Of + "repository", err.Error(), unreadable(err)}}
		}
		found := r.manifests(head)
		if missed := head.Missed(); missed == nil || !wanted.Miss(missed) {
			read := Finding{OK, r.Of + "repository", fmt.Sprintf("branch %s can be read, at %s: %s", r.Source.Branch, plain.Commit(head.Commit), head.Subject), ""}
			return append([]Finding{read}, found...)
		}
		head.Close()
	}
	return []Finding{{Failed, r.Of + "files", fmt.Sprintf("the kustomizations lead from one to another more than %d times", spec.Rounds), "have them refer to fewer others"}}
}

// unreadable returns what to do about a repository that can't be read.
func unreadable(err error) string {
	switch gitrepo.KindOf(err) {
	case gitrepo.Invalid:
		return "correct the address or the branch; http:// and file:// need --git-allow-http and --git-allow-file, of the controller, too"
	case gitrepo.InvalidAuth, gitrepo.Denied:
		return "give it credentials that are good, and for ssh the server's line of known_hosts: docs/releasesource.md"
	case gitrepo.RepositoryNotFound:
		return "correct the address, or give credentials: a private repository is not shown to others"
	case gitrepo.BranchNotFound:
		return "push the branch, or name another: --branch, or spec.ref.branch"
	case gitrepo.LimitExceeded:
		return "keep large files elsewhere, or start the controller with higher --git-max limits"
	case gitrepo.Unreachable, gitrepo.Timeout:
		return "check the network between this machine and the server: DNS, proxy, firewall, certificates (--ca-file, or ca.crt)"
	}
	return "check the server, and try again"
}

// manifests returns what is wrong with the files, and how many there are if nothing is.
func (r *Repository) manifests(head *gitrepo.Snapshot) []Finding {
	subject := r.Of + "files"
	report, err := lint.Check(head.FS(), r.Path, r.Manifests, nil)
	if err != nil {
		remedy := "correct --path, or spec.path"
		if errors.Is(err, spec.ErrLimit) {
			remedy = "have fewer or smaller files there, or start the controller with higher --manifests-max limits"
		}
		return []Finding{{Failed, subject, err.Error(), remedy}}
	}
	var findings []Finding
	for _, found := range report.Findings {
		grade, remedy := Warning, "see whether it is meant; sluice lint says the same before the push"
		if found.Severity == lint.Error {
			grade, remedy = Failed, "correct the file; sluice lint finds the same before the push"
		}
		place := found.File
		if found.Line > 0 {
			place += fmt.Sprintf(":%d", found.Line)
		}
		findings = append(findings, Finding{grade, r.Of + place, found.Message, remedy})
	}
	if report.Count(lint.Error) == 0 {
		findings = append(findings, Finding{OK, subject, fmt.Sprintf("releases: %d, manifest files read: %d", report.Releases, report.Files), ""})
	}
	return findings
}
