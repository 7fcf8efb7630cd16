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
	"github.com/sluice-dev/sluice/cli/check"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/plain"
)

// checkFlags are the flags of "sluice check" as they were given.
type checkFlags struct {
	kube       *kubeFlags
	source     string
	repository repositoryFlags
}

func newCheck() *cobra.Command {
	flags := &checkFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "check",
		GroupID: groupServer,
		Short:   "Check whether the cluster, repositories and forges are ready for Sluice",
		Long: `Check what Sluice needs: the version of Kubernetes, the CRDs and policies and their versions, a running controller and its
permissions; for each ReleaseSource in the namespace its repository, forge and files; and for each release what blocks it.

With --source, also check that source's repository and forge from your machine, with the credentials in its Secrets if you may
read them. With --repository, check a repository before there is a source, or a cluster: whether it can be read and its files
are valid, and with --forge whether the account has the permissions it needs and the branch is protected. -n is the namespace
that the source will be in. Nothing is changed.

Each line is ok, a warning or failed, with what to do. The exit code is 1 if a check failed. Anything that you
may not read is a warning.`,
		Example: `  sluice check -A
  sluice check -n shop --source=shop
  sluice check --repository=https://github.com/example/shop-releases --forge=github --token-file=token`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              flags.run,
	}
	command.Flags().StringVar(&flags.source, "source", "", "check only the ReleaseSource of this `name`")
	flags.repository.register(command.Flags())
	flags.kube.registerAll(command)
	return command
}

func (f *checkFlags) run(command *cobra.Command, _ []string) error {
	if err := f.repository.check(); err != nil {
		return err
	}
	find := f.cluster
	if f.repository.url != "" {
		if f.source != "" || f.kube.allNamespaces {
			return usageError{errors.New("--repository is checked without a cluster: leave out --source and --all-namespaces")}
		}
		find = func(command *cobra.Command) ([]check.Finding, error) {
			return f.repository.findings(command.Context(), *f.kube.config.Namespace)
		}
	}
	findings, err := find(command)
	if err != nil {
		return err
	}
	if err := printFindings(command.OutOrStdout(), findings); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if check.Unfit(findings) {
		return errors.New("some checks failed")
	}
	return nil
}

// cluster returns what is found of the cluster and what is in it.
func (f *checkFlags) cluster(command *cobra.Command) ([]check.Finding, error) {
	c, err := f.kube.connect(command.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	server, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster: %w", err)
	}
	cluster := &check.Cluster{Discovery: server, Client: c, Controller: handback.Controller, Namespace: c.namespace}
	findings, err := cluster.Check(command.Context(), time.Now())
	if err != nil {
		return nil, fmt.Errorf("check cluster: %w", err)
	}
	objects, err := f.objects(command.Context(), c)
	return append(findings, objects...), err
}

// objects returns what is found of sources, and of the releases.
func (f *checkFlags) objects(ctx context.Context, c *cluster) ([]check.Finding, error) {
	findings, err := f.sources(ctx, c)
	switch {
	case meta.IsNoMatchError(err): // missing CRDs are found already
		return nil, nil
	case err != nil:
		return nil, err
	}
	var releases v1alpha1.BatchReleaseList
	if err := c.List(ctx, &releases, client.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	for i := range releases.Items {
		findings = append(findings, check.Release(&releases.Items[i])...)
	}
	return findings, nil
}

// sources returns the findings for all sources, or for the one that is named, which is also checked
// from here.
func (f *checkFlags) sources(ctx context.Context, c *cluster) ([]check.Finding, error) {
	var sources v1alpha1.ReleaseSourceList
	if err := c.List(ctx, &sources, client.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	var findings []check.Finding
	found := false
	for i := range sources.Items {
		source := &sources.Items[i]
		if f.source != "" && source.Name != f.source {
			continue
		}
		found = true
		findings = append(findings, check.Source(source)...)
		if f.source == "" {
			continue
		}
		here, err := f.sourceFromHere(ctx, c, source)
		if err != nil {
			return nil, err
		}
		findings = append(findings, here...)
	}
	if f.source != "" && !found {
		return nil, fmt.Errorf("no source %s%s", f.source, c.where())
	}
	return findings, nil
}

// printFindings prints a line for each, and one below it with what to do.
func printFindings(out io.Writer, findings []check.Finding) error {
	table := printers.GetNewTabWriter(out)
	for _, finding := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", finding.Grade, plain.Line(finding.Subject), plain.Line(finding.Text))
		if finding.Remedy != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", plain.Line(finding.Remedy))
		}
	}
	return table.Flush()
}
