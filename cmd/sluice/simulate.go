package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/simulate"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// simulateFlags are the flags of "sluice simulate" as they were given.
type simulateFlags struct {
	source                 sourceFlags
	release, trace, output string
	nodes                  int32
}

// approvedSoon is the trace where none is given.
const approvedSoon = "approveAfter: 1m\n"

func newSimulate() *cobra.Command {
	flags := &simulateFlags{}
	command := &cobra.Command{
		Use:     "simulate [PATH]",
		GroupID: groupPush,
		Short:   "Simulate a release, and print its pods at each moment",
		Long: `Simulate a release with the controller's planner: how many pods of the old and the new template there are at each moment, how many
are available, the current batch and what it waits for. It needs no cluster, and the same input gives the same output.

PATH is the folder with the release and its workload, or a file in it, by default the current folder. A trace says what happens
meanwhile: scaling, crashing or slow pods, approvals, rejections, new templates, a rollback. Without one, each step is approved a
minute after its gates open. docs/before-the-push.md explains its fields. A train is simulated with all its members.

No file says how many nodes a DaemonSet has a pod on: --nodes does, or the trace, which can give them labels. Default 10.

The exit code is 1 if an expectation in the trace is not met.`,
		Example: `  sluice simulate
  sluice simulate deploy --release shop/web --trace scaled.yaml
  sluice simulate deploy -o json`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, append(args, ".")[0]) },
	}
	set := command.Flags()
	set.StringVar(&flags.release, "release", "", "`name` or namespace/name of the release (default the only one)")
	set.StringVar(&flags.trace, "trace", "", "`file` with the events")
	set.Int32Var(&flags.nodes, "nodes", 0, "`number` of nodes of a DaemonSet (default those of the trace, or 10)")
	set.StringVarP(&flags.output, "output", "o", string(plain.Text), "output `format`: text or json")
	flags.source.register(set)
	return command
}

func (f *simulateFlags) run(cmd *cobra.Command, path string) error {
	if err := plain.Format(f.output).Check(simulate.Formats); err != nil {
		return usageError{fmt.Errorf("--output %w", err)}
	}
	if err := f.source.helm.check(); err != nil {
		return err
	}
	trace, err := f.readTrace()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("nodes") {
		if f.nodes < 1 || f.nodes > simulate.MaxPods {
			return usageError{fmt.Errorf("--nodes must be from 1 to %d, not %d", simulate.MaxPods, f.nodes)}
		}
		trace.Nodes = []simulate.Nodes{{Count: f.nodes}}
	}
	chosen, all, err := f.choose(cmd.Context(), path)
	if err != nil {
		return err
	}
	if kind := chosen.WorkloadKind; cmd.Flags().Changed("nodes") && !chosen.IsTrain() && !preflight.FollowsNodes(kind) {
		return fmt.Errorf("--nodes is for %s, and %s %s has no pods by node: use replicas in a trace", kinds.OnNodes(), kind, chosen.Workload)
	}
	timeline, err := play(chosen, all, trace)
	if err != nil {
		return err
	}
	if err := timeline.Write(cmd.OutOrStdout(), plain.Format(f.output)); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return timeline.Err()
}

func (f *simulateFlags) readTrace() (*simulate.Trace, error) {
	if f.trace == "" {
		return simulate.Parse([]byte(approvedSoon))
	}
	data, err := os.ReadFile(f.trace)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return simulate.Parse(data)
}

// choose finds the release that is meant, and all that there are.
func (f *simulateFlags) choose(ctx context.Context, path string) (*spec.Release, []*spec.Release, error) {
	tree, err := findWorktree(path, f.source.marks())
	if err != nil {
		return nil, nil, err
	}
	files, err := tree.files()
	if err != nil {
		return nil, nil, err
	}
	read, err := spec.NewReader(f.source.options(ctx)).Read(files, tree.folder)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	var chosen []*spec.Release
	var names []string
	for _, release := range read.Releases {
		name := release.Namespace + "/" + release.Name
		names = append(names, name)
		if f.release == "" && release.Train == "" || f.release == name || f.release == release.Name {
			chosen = append(chosen, release)
		}
	}
	switch {
	case len(chosen) == 1:
		return chosen[0], read.Releases, nil
	case len(chosen) > 1:
		return nil, nil, usageError{fmt.Errorf("name one of the releases with --release: %s", strings.Join(names, ", "))}
	case len(read.Errors) > 0:
		return nil, nil, fmt.Errorf("there is no release that can be read: %w", read.Errors[0])
	case len(names) == 0:
		return nil, nil, fmt.Errorf("there is no release in %s", path)
	}
	return nil, nil, fmt.Errorf("there is no release %s in %s, but %s", f.release, path, strings.Join(names, ", "))
}

// play simulates a release. A member of a train is played alone, with the gates of that.
func play(chosen *spec.Release, all []*spec.Release, trace *simulate.Trace) (*simulate.Timeline, error) {
	release := &v1alpha1.BatchRelease{}
	if err := decodeObject(chosen.Object(), release); err != nil {
		return nil, err
	}
	if chosen.IsTrain() {
		return playTrain(chosen, release, all, trace)
	}
	if at := releaseOf(all, chosen.Namespace, chosen.Train); chosen.Train != "" && at != nil {
		train := &v1alpha1.BatchRelease{}
		if err := decodeObject(at.Object(), train); err != nil {
			return nil, err
		}
		for j := range release.Spec.Strategy.Steps {
			release.Spec.Strategy.Steps[j].Gates = train.Spec.Strategy.Steps[j].Gates
		}
	}
	manifest, err := manifestOf(chosen, trace)
	if err != nil {
		return nil, err
	}
	return simulate.Run(release, manifest, trace)
}

// playTrain simulates a commit that changes all members of a train.
func playTrain(chosen *spec.Release, train *v1alpha1.BatchRelease, all []*spec.Release, trace *simulate.Trace) (*simulate.Timeline, error) {
	members := make([]simulate.Member, 0, len(chosen.Members))
	for _, template := range chosen.Members {
		member := simulate.Member{Release: &v1alpha1.BatchRelease{}, Group: template.Group}
		of := releaseOf(all, chosen.Namespace, template.Name)
		if of == nil {
			return nil, fmt.Errorf("train %s/%s: member %s can't be read: sluice lint says why", chosen.Namespace, chosen.Name, template.Name)
		}
		if err := decodeObject(of.Object(), member.Release); err != nil {
			return nil, err
		}
		var err error
		if member.Manifest, err = manifestOf(of, trace); err != nil {
			return nil, fmt.Errorf("member %s: %w", template.Name, err)
		}
		members = append(members, member)
	}
	return simulate.RunTrain(train, members, trace)
}

// releaseOf returns a release of a repository; nil if there is none.
func releaseOf(all []*spec.Release, namespace, name string) *spec.Release {
	for _, r := range all {
		if r.Namespace == namespace && r.Name == name {
			return r
		}
	}
	return nil
}

// manifestOf returns the workload of a release; nil if only the trace says how large it is.
func manifestOf(release *spec.Release, trace *simulate.Trace) (kinds.Object, error) {
	of := workload.New(release.WorkloadKind)
	switch {
	case of == nil:
		return nil, fmt.Errorf("a %s can't be released: sluice lint says what can", release.WorkloadKind)
	case release.HasWorkload():
		if err := decodeObject(release.WorkloadObject(), of.Object()); err != nil {
			return nil, err
		}
		return of.Object(), nil
	case trace.Replicas == nil && !preflight.FollowsNodes(release.WorkloadKind):
		return nil, fmt.Errorf("the %s is not in the repository: say in a trace how many replicas it has", release.WorkloadKind)
	default:
		return nil, nil
	}
}

func decodeObject(object *unstructured.Unstructured, into any) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
