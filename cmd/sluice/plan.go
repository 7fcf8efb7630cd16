package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// planFlags are the flags of "sluice plan" as they were given.
type planFlags struct {
	source    sourceFlags
	kube      *kubeFlags
	cluster   bool
	from, to  string
	mergeBase bool
	history   int
	output    string
}

func newPlan() *cobra.Command {
	flags := &planFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "plan [PATH]",
		GroupID: groupPush,
		Short:   "Show what commits would release, in which batches",
		Long: `Show what commits would release: which templates change and in which fields, in which batches and with how many pods, the gates
after each batch and who decides them, and which releases are new or removed. It needs no cluster.

With --cluster, also read the kubeconfig's cluster, and show the replicas of existing workloads, the progress of their
releases, whether a new template starts, waits or replaces another, and what quotas, disruption budgets and autoscalers would
block. It only reads; the roles view and sluice-viewer are enough. What you may not read is reported. --namespace is needed then:
files that name other namespaces are errors.

PATH is the folder that a ReleaseSource reads, by default the current one. The commits are from its repository. --from defaults
to the first parent of --to; for the merge commit that GitHub Actions checks out for a pull request, that is the target
branch. --merge-base compares with the common ancestor instead.

A template that an earlier commit already had is shown as a rollback. --history limits how far back to search.

Mistakes between a release and the routes, Services and workloads of the repository are shown as "sluice lint" words them.

The exit code is 1 on errors in the files after the commits, and 2 on a usage error.`,
		Example: `  sluice plan
  sluice plan deploy --from main --merge-base
  sluice plan --from v1.4 --to v1.5 -o markdown
  sluice plan deploy -n shop --cluster --context production`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, append(args, ".")[0]) },
	}
	set := command.Flags()
	set.StringVar(&flags.from, "from", "", "`revision` before (default the first parent of --to)")
	set.StringVar(&flags.to, "to", "HEAD", "`revision` after")
	set.BoolVar(&flags.mergeBase, "merge-base", false, "compare with the common ancestor of --from and --to")
	set.IntVar(&flags.history, "history", 20, "`number` of commits before --from to search for the template")
	set.StringVarP(&flags.output, "output", "o", string(plain.Text), "output `format`: text, json, or markdown for a comment on a pull request")
	set.BoolVar(&flags.cluster, "cluster", false, "also read the cluster")
	flags.source.register(set)
	flags.kube.register(command)
	return command
}

func (f *planFlags) run(cmd *cobra.Command, path string) error {
	if err := plain.Format(f.output).Check(preview.Formats); err != nil {
		return usageError{fmt.Errorf("--output %w", err)}
	}
	switch {
	case f.mergeBase && f.from == "":
		return usageError{errors.New("--merge-base needs --from")}
	case f.history < 0:
		return usageError{errors.New("--history must not be negative")}
	}
	if err := cmp.Or(f.source.helm.check(), f.checkCluster(cmd)); err != nil {
		return err
	}
	shown, err := f.compare(cmd.Context(), path)
	if err != nil {
		return err
	}
	if f.source.namespace == "" {
		shown.Unplaced(unknownNamespace)
	}
	if f.cluster {
		if err := f.meet(cmd, shown); err != nil {
			return err
		}
	}
	if err := shown.Write(cmd.OutOrStdout(), plain.Format(f.output)); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return shown.Err()
}

// checkCluster refuses flags that name a cluster which is not asked, and to ask one of whatever
// namespace the files name: they may be a stranger's, and who reads the plan may not read the
// cluster.
func (f *planFlags) checkCluster(cmd *cobra.Command) error {
	var err error
	switch {
	case f.cluster && f.source.namespace == "":
		return usageError{errors.New("--cluster needs --namespace, that of the ReleaseSource: releases are looked up there and in --shared-namespaces only")}
	case f.cluster:
		return nil
	}
	kubectlFlags(cmd).VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			err = usageError{fmt.Errorf("--%s needs --cluster", flag.Name)}
		}
	})
	return err
}

// meet adds what the plan comes upon in the cluster that the flags name.
func (f *planFlags) meet(cmd *cobra.Command, shown *preview.Preview) error {
	c, err := f.kube.connect(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := c.meet(cmd.Context(), shown); err != nil {
		return fmt.Errorf("%w (without --cluster a plan needs none)", err)
	}
	return nil
}

// repository is a folder of a repository, at the commits to compare.
type repository struct {
	*gitrepo.Local

	folder string
	reader *spec.Reader
}

func (f *planFlags) open(ctx context.Context, path string) (*repository, error) {
	tree, err := findWorktree(path, f.source.marks())
	if err != nil {
		return nil, err
	}
	local, err := gitrepo.OpenLocal(ctx, path, os.Environ(), gitrepo.Limits{FileBytes: f.source.limits.FileBytes})
	if err != nil {
		return nil, err
	}
	return &repository{Local: local, folder: tree.folder, reader: spec.NewReader(f.source.options(ctx))}, nil
}

func (f *planFlags) compare(ctx context.Context, path string) (*preview.Preview, error) {
	repo, err := f.open(ctx, path)
	if err != nil {
		return nil, err
	}
	to, err := repo.At(f.to)
	if err != nil {
		return nil, err
	}
	from, err := f.start(repo, to)
	if err != nil {
		return nil, err
	}
	before, err := repo.readBefore(from)
	if err != nil {
		return nil, err
	}
	after, err := repo.read(to)
	if err != nil {
		return nil, err
	}
	var earlier []*preview.State
	if preview.Differ(before, after) {
		if earlier, err = repo.earlier(from, f.history); err != nil {
			return nil, err
		}
	}
	return preview.Compare(before, after, earlier)
}

// start returns the commit to compare with; nil if the other is the first of all.
func (f *planFlags) start(repo *repository, to *gitrepo.Snapshot) (*gitrepo.Snapshot, error) {
	switch {
	case f.mergeBase:
		return repo.MergeBase(f.from, f.to)
	case f.from != "":
		return repo.At(f.from)
	case to.IsFirst():
		return nil, nil
	}
	return repo.At(f.to + "~1")
}

// read reads the folder at a commit.
func (r *repository) read(at *gitrepo.Snapshot) (*preview.State, error) {
	files := at.FS()
	found, err := r.reader.Read(files, r.folder)
	if missing := at.Err(); missing != nil {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", at.Commit, err)
	}
	return &preview.State{Commit: preview.Commit{Commit: at.Commit, Subject: at.Subject}, Files: files, Read: found}, nil
}

// readBefore returns read for a commit at which the folder or its chart may not be there yet, or
// that is before the first of all.
func (r *repository) readBefore(at *gitrepo.Snapshot) (*preview.State, error) {
	if at == nil {
		return &preview.State{Read: &spec.Result{}}, nil
	}
	none := &preview.State{Commit: preview.Commit{Commit: at.Commit, Subject: at.Subject}, Read: &spec.Result{}}
	if _, err := fs.Stat(at.FS(), r.folder); errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	state, err := r.read(at)
	if errors.Is(err, spec.ErrNoChart) {
		return none, nil
	}
	return state, err
}

// earlier reads commits before one, by first parents, as far as the clone goes.
func (r *repository) earlier(at *gitrepo.Snapshot, most int) ([]*preview.State, error) {
	var states []*preview.State
	for range most {
		parent, err := r.Parent(at)
		if err != nil || parent == nil {
			return states, err
		}
		state, err := r.readBefore(parent)
		if gitrepo.KindOf(err) == gitrepo.Invalid {
			return states, nil // a partial clone may lack its files
		}
		if err != nil {
			return nil, err
		}
		states, at = append(states, state), parent
	}
	return states, nil
}
