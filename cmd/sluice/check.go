package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/fitness"
	"github.com/sluice-dev/sluice/rollout/handback"
)

// checkFlags are the flags of "sluice check" as they were given.
type checkFlags struct {
	kube   *kubeFlags
	source string
}

func newCheck() *cobra.Command {
	flags := &checkFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "check",
		GroupID: groupServer,
		Short:   "Say whether the cluster, the repositories and the forges are fit for use",
		Long: `Check what Sluice needs: the version of Kubernetes, its kinds and policies and whether they are of this version, a controller that
runs, and its rights; of each ReleaseSource in the namespace, whether its repository and its forge let the controller work, and
what is wrong in its files; of each release, what stands against it.

Each line is ok, a warning or failed, with what to do. It exits with 1 if anything has failed. What you may not look at is a
warning.`,
		Example: `  sluice check -A
  sluice check -n shop --source=shop`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              flags.run,
	}
	command.Flags().StringVar(&flags.source, "source", "", "the `name` of the one ReleaseSource to check")
	flags.kube.registerAll(command)
	return command
}

func (f *checkFlags) run(command *cobra.Command, _ []string) error {
	c, err := f.kube.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return fmt.Errorf("connect to cluster: %w", err)
	}
	cluster := &fitness.Cluster{Discovery: server, Client: c, Controller: handback.Controller, Namespace: c.namespace}
	findings, err := cluster.Check(command.Context(), time.Now())
	if err != nil {
		return fmt.Errorf("check cluster: %w", err)
	}
	objects, err := f.objects(command.Context(), c)
	if err != nil {
		return err
	}
	findings = append(findings, objects...)
	if err := printFindings(command.OutOrStdout(), findings); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if fitness.Unfit(findings) {
		return errors.New("not everything is fit for use")
	}
	return nil
}

// objects are what is found of sources, and of the releases.
func (f *checkFlags) objects(ctx context.Context, c *cluster) ([]fitness.Finding, error) {
	var findings []fitness.Finding
	var sources v1alpha1.ReleaseSourceList
	err := c.List(ctx, &sources, client.InNamespace(c.namespace))
	switch {
	case meta.IsNoMatchError(err): // that the kinds are missing is found already
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list sources: %w", err)
	}
	found := false
	for i := range sources.Items {
		if f.source == "" || sources.Items[i].Name == f.source {
			found = true
			findings = append(findings, fitness.Source(&sources.Items[i])...)
		}
	}
	if f.source != "" && !found {
		return nil, fmt.Errorf("no source %s%s", f.source, c.where())
	}
	var releases v1alpha1.BatchReleaseList
	if err := c.List(ctx, &releases, client.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	for i := range releases.Items {
		findings = append(findings, fitness.Release(&releases.Items[i])...)
	}
	return findings, nil
}

// printFindings prints a line for each, and one below it with what to do.
func printFindings(out io.Writer, findings []fitness.Finding) error {
	table := printers.GetNewTabWriter(out)
	for _, finding := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", finding.Grade, finding.Subject, finding.Text)
		if finding.Remedy != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", finding.Remedy)
		}
	}
	return table.Flush()
}
