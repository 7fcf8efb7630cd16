package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// The exit codes by which "sluice status" tells how a release ended.
const (
	exitFailed     = 3
	exitRolledBack = 4
	exitRejected   = 5
	exitUnderWay   = 6
	exitOvertaken  = 7
	exitDrifted    = 8
	exitRefused    = 9
)

// outcomeError is an end of a release that is not the one that was hoped for.
type outcomeError struct {
	error

	code int
}

// statusFlags are the flags of "sluice status" as they were given.
type statusFlags struct {
	kube    *kubeFlags
	watch   bool
	timeout time.Duration
	commit  string
}

func newStatus() *cobra.Command {
	flags := &statusFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "status [RELEASE]",
		GroupID: groupLook,
		Short:   "Wait for a release to end, and report how in the exit code",
		Long: `Print the progress of a release, one line for each change, until it ends. The exit code says how:

  0  it completed
  1  the request failed, or the release was deleted
  2  usage error
  3  it failed: it made no progress in time, or its template or strategy can't be released
  4  it was rolled back to an earlier template, and not by Git
  5  a gate was rejected, and the release stopped
  6  it is still in progress: the timeout passed, or --watch=false was given
  7  another commit replaced the one of --commit before its end
  8  it completed, and somebody has since changed the workload, or spec.template of the release, out of band
  9  the newest commit in Git is not applied to it: its file is invalid, or the API server refuses it, or nobody can read the repository

A release that waits for a gate, or is suspended or frozen, is in progress.

With --commit, wait for the release of that commit, even if the controller has not seen it yet or another one has started since. A commit
that does not change the release's template is never released: set --timeout too.`,
		Example: `  sluice status web -n shop --timeout 30m
  sluice status web --commit $GITHUB_SHA --timeout 1h
  sluice status web --watch=false`,
		ValidArgsFunction: flags.kube.completeReleases,
		RunE:              flags.run,
	}
	set := command.Flags()
	set.BoolVarP(&flags.watch, "watch", "w", true, "wait for the release to end")
	set.DurationVar(&flags.timeout, "timeout", 0, "maximum `duration` to wait, for example 30m (default unlimited)")
	set.StringVar(&flags.commit, "commit", "", "`commit` whose release to wait for, at least 7 digits (default the last one started)")
	flags.kube.register(command)
	return command
}

// commitID is a commit, or as much of one as people quote.
var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func (f *statusFlags) run(command *cobra.Command, args []string) error {
	f.commit = strings.ToLower(f.commit)
	switch {
	case f.timeout < 0:
		return usageError{errors.New("--timeout is less than nothing")}
	case f.commit != "" && !commitID.MatchString(f.commit):
		return usageError{fmt.Errorf("--commit %q is no commit: it takes 7 hexadecimal digits or more", f.commit)}
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", release.Name, line) }
	if !f.watch {
		sources, err := c.sourcesOf(command.Context(), []v1alpha1.BatchRelease{*release})
		if err != nil {
			return err
		}
		outcome := f.outcome(release, sources.Of(release))
		if settled(outcome) && c.hasUnseen(command.Context(), release) {
			say(unseen)
			return f.endOf(release, sources.Of(release), show.UnderWay)
		}
		say(f.progress(release))
		return f.endOf(release, sources.Of(release), outcome)
	}
	return f.wait(command.Context(), c, release, say)
}

// wait follows the release to its end, or for as long as is given.
func (f *statusFlags) wait(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease, say func(string)) error {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	key, said, outcome := client.ObjectKeyFromObject(release), "", show.Unknown
	watched, sees := c.watched(lookup.OneRelease(release.Name)), c.maySee(ctx)
	if sees {
		watched.Objects[&v1alpha1.ReleaseSource{}] = cache.ByObject{}
	}
	var sources v1alpha1.ReleaseSourceList
	source := func() *v1alpha1.ReleaseSource { return show.Sources(sources.Items).Of(release) }
	err := lookup.Follow(ctx, watched, func(ctx context.Context, objects client.Reader) error {
		if err := objects.Get(ctx, key, release); err != nil {
			return fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
		}
		if sees {
			if err := objects.List(ctx, &sources); err != nil {
				return fmt.Errorf("list sources: %w", err)
			}
		}
		before, line := outcome, f.progress(release)
		outcome = f.outcome(release, source())
		if settled(outcome) && c.hasUnseen(ctx, release) { // the release changes once the controller sees it
			outcome, line = show.UnderWay, unseen
		}
		if line != said {
			say(line)
			said = line
		}
		if gone := outcome == show.Unknown && before != show.Unknown; gone || settled(outcome) {
			return lookup.ErrDone
		}
		return nil
	})
	switch {
	case err == nil:
		return f.endOf(release, source(), outcome)
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeError{fmt.Errorf("release %s is in progress after %v", release.Name, f.timeout), exitUnderWay}
	default:
		return err
	}
}

// unseen is the progress of a release whose controller has not seen what was applied.
const unseen = "waits for the controller to look at the workload"

// hasUnseen reports whether others have applied a template to a followed workload that the
// controller has not seen yet, by the note of the policy. A workload that can't be read has none.
func (c *cluster) hasUnseen(ctx context.Context, release *v1alpha1.BatchRelease) bool {
	kind := kinds.Named(release.Spec.WorkloadRef.Kind)
	if release.Spec.Follow == "" || kind == nil {
		return false
	}
	workload := kind.New()
	err := c.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: release.Spec.WorkloadRef.Name}, workload)
	if _, waits := workload.GetAnnotations()[v1alpha1.WaitingAnnotation]; err != nil || !waits {
		return false
	}
	digest, err := podtemplate.Digest(kind.Template(workload))
	return err == nil && digest != release.Annotations[v1alpha1.FollowedAnnotation]
}

// outcome returns the outcome of the newest commit, or of the one that --commit names. A completed
// release is not enough: the source may have refused a newer commit.
func (f *statusFlags) outcome(release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) show.Outcome {
	refused := show.Refused(release, source) != ""
	if f.commit == "" {
		if outcome := show.OutcomeOf(release); outcome != show.Completed || !refused {
			return outcome
		}
		return show.RefusedInGit
	}
	outcome := show.OutcomeAt(release, f.commit)
	if outcome == show.Unknown && refused && strings.HasPrefix(source.Status.ObservedCommit, f.commit) {
		return show.RefusedInGit
	}
	return outcome
}

// progress returns how far the release that is meant is.
func (f *statusFlags) progress(release *v1alpha1.BatchRelease) string {
	switch {
	case f.commit == "", strings.HasPrefix(release.Status.Commit, f.commit):
		return show.Progress(release)
	case show.OutcomeAt(release, f.commit) == show.Unknown:
		return "no release of commit " + f.commit + " is known"
	case show.OutcomeAt(release, f.commit) == show.Superseded:
		return "the release of commit " + f.commit + " was superseded"
	default:
		return "the release of commit " + f.commit + " is at its end"
	}
}

// settled reports whether an outcome is one.
func settled(outcome show.Outcome) bool { return outcome != show.UnderWay && outcome != show.Unknown }

// endOf returns nil for a release that is completed. If it lost sight of the commit before the end,
// another one superseded it.
func (f *statusFlags) endOf(release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource, outcome show.Outcome) error {
	if outcome == show.RefusedInGit {
		return outcomeError{fmt.Errorf("the newest commit in Git is not applied to release %s: %s", release.Name, show.Refused(release, source)), exitRefused}
	}
	if outcome == show.Superseded || outcome == show.Unknown && f.watch {
		return outcomeError{fmt.Errorf("another commit took the place of %s in release %s", f.commit, release.Name), exitOvertaken}
	}
	return endOf(release, outcome)
}

// endOf returns nil for a release that is completed.
func endOf(release *v1alpha1.BatchRelease, outcome show.Outcome) error {
	name := "release " + release.Name
	switch outcome {
	case show.Completed:
		return nil
	case show.Failed:
		return outcomeError{errors.New(name + " failed"), exitFailed}
	case show.RolledBack:
		return outcomeError{errors.New(name + " was rolled back"), exitRolledBack}
	case show.Rejected:
		return outcomeError{errors.New("a gate of " + name + " was rejected"), exitRejected}
	case show.Drifted:
		return outcomeError{errors.New(drifted(name, release)), exitDrifted}
	default:
		return outcomeError{errors.New(name + " is in progress"), exitUnderWay}
	}
}

// drifted says what was changed since a release was completed. The template in Git can change while
// all pods run the released one.
func drifted(name string, release *v1alpha1.BatchRelease) string {
	if release.Status.State == v1alpha1.StateChangedPastGit {
		return name + " completed, and its spec.template has since been changed without Git"
	}
	return name + " does not run any more: the " + release.Spec.WorkloadRef.Kind + " was changed out of band"
}

// watched returns objects in the namespace that the verb works in.
func (c *cluster) watched(objects lookup.Objects) lookup.Watched {
	return lookup.Watched{Config: c.config, Scheme: kube.NewScheme(), Namespace: c.namespace, Objects: objects}
}
