package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// followFlags are the flags of "sluice follow" as they were given.
type followFlags struct {
	namespace string
	steps     []string
}

func newFollow() *cobra.Command {
	flags := &followFlags{}
	command := &cobra.Command{
		Use:     "follow KIND/NAME",
		GroupID: groupPush,
		Short:   "Print a release of what others apply to a workload",
		Long: `Print a BatchRelease that releases each new version of a Deployment, StatefulSet or DaemonSet in batches, whoever applies it: Helm,
Flux, Argo CD or kubectl. Somebody approves each batch but the last. The command contacts no cluster.`,
		Example: `  sluice follow deployment/web -n shop | kubectl apply -f -
  sluice follow sts/db --steps=1,50% > chart/templates/release.yaml`,
		Args:              oneWorkload,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.print(cmd, args[0]) },
	}
	command.Flags().StringVarP(&flags.namespace, "namespace", "n", "", "`namespace` of the release and its workload; none by default")
	command.Flags().StringSliceVar(&flags.steps, "steps", []string{"1"}, "`pods` of the new version after each batch, as numbers or percentages; 100% comes last")
	return command
}

func oneWorkload(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("name one workload, such as deployment/web")}
	}
	return nil
}

func (f *followFlags) print(command *cobra.Command, workload string) error {
	release, err := f.release(workload)
	if err != nil {
		return usageError{err}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(release)
	if err != nil {
		return fmt.Errorf("encode release: %w", err)
	}
	delete(fields, "status")
	return install.Write(command.OutOrStdout(), []*unstructured.Unstructured{{Object: fields}})
}

// release returns the release of a workload, which is written as kubectl has it.
func (f *followFlags) release(workload string) (*v1alpha1.BatchRelease, error) {
	written, name, _ := strings.Cut(workload, "/")
	kind := kinds.Written(written)
	if kind == nil || name == "" {
		return nil, fmt.Errorf("%q names no workload: write KIND/NAME, such as deployment/web, with %s", workload, kinds.List(kinds.Names()))
	}
	if wrong := validation.NameIsDNSSubdomain(name, false); len(wrong) > 0 {
		return nil, fmt.Errorf("%q is not a name of a workload: %s", name, wrong[0])
	}
	release := &v1alpha1.BatchRelease{}
	release.APIVersion, release.Kind = v1alpha1.GroupVersion.String(), "BatchRelease"
	release.Namespace, release.Name = f.namespace, name
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: kind.Name, Name: name}
	release.Spec.Follow = v1alpha1.FollowWorkload
	if len(f.steps) == 0 {
		return nil, errors.New("--steps is empty: name the pods of each batch, such as --steps=1,50%")
	}
	for _, step := range f.steps {
		if step = strings.TrimSpace(step); step != "100%" {
			release.Spec.Strategy.Steps = append(release.Spec.Strategy.Steps, v1alpha1.Step{Replicas: intstr.Parse(step)})
		}
	}
	release.Spec.Strategy.Steps = append(release.Spec.Strategy.Steps, v1alpha1.Step{Replicas: intstr.FromString("100%")})
	if wrong := plan.Validate(&release.Spec, field.NewPath("spec")); len(wrong) > 0 {
		return nil, fmt.Errorf("--steps: %w", wrong.ToAggregate())
	}
	return release, nil
}
