package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// lintFlags are the flags of "sluice lint" as they were given.
type lintFlags struct {
	source  sourceFlags
	metrics metricsFlags
	output  string
	strict  bool
}

// sourceFlags say what the ReleaseSource of a repository will say.
type sourceFlags struct {
	namespace string
	shared    []string
	ignore    []string
	helm      helmFlags
	limits    spec.Limits
	builds    sandbox.Options
	forge     string
}

func (f *sourceFlags) register(set *pflag.FlagSet) {
	set.StringVarP(&f.namespace, "namespace", "n", "",
		"`namespace` of the ReleaseSource; releases may be in no other (default any; a release without one is in \"default\")")
	set.StringSliceVar(&f.shared, "shared-namespaces", nil,
		"other comma-separated `namespaces` that releases may be in, as in the controller's flag")
	set.StringArrayVar(&f.ignore, "ignore", nil, "files and folders to leave out, a `line` of a .gitignore, as in spec.ignore of the ReleaseSource; can be repeated")
	set.StringVar(&f.forge, "forge", "", "`type` of the forge that has the repository, GitHub, Gitea or GitLab: gates that it can't answer are errors")
	f.helm.register(set)
	set.Func("git-max-file", "greatest `size` of one file (default 4Mi)", size(&f.limits.FileBytes))
	registerManifestLimits(set, &f.limits, &f.builds)
	registerUnhurried(set, &f.builds)
}

// marks returns the names of files that make a folder one which is read as a whole.
func (f *sourceFlags) marks() []string {
	if f.helm.chart() != nil {
		return []string{"Chart.yaml"}
	}
	return kustomizations
}

// unknownNamespace stands for the namespace of releases without one, where nobody has named it.
const unknownNamespace = "default"

// options returns those of a reader whose builds end with the context.
func (f *sourceFlags) options(ctx context.Context) spec.Options {
	builder := sandbox.NewPool(f.builds).For(ctx, sandbox.Owner{})
	options := spec.Options{Namespace: f.namespace, AllowedNamespaces: f.shared, Limits: f.limits, Builder: builder,
		Ignore: f.ignore, Ignorer: gitrepo.Ignore, Helm: f.helm.chart(), Forge: forge.Type(f.forge)}
	if f.namespace == "" {
		options.Namespace, options.AnyNamespace = unknownNamespace, true
	}
	return options
}

func newLint() *cobra.Command {
	flags := &lintFlags{}
	command := &cobra.Command{
		Use:     "lint [PATH...]",
		GroupID: groupPush,
		Short:   "Find mistakes in releases before the push",
		Long: `Find all mistakes in releases in files and folders, with file, line and column. It needs no cluster.

Lint applies the controller's rules. It also finds mistakes that would otherwise show only in the cluster: a template
that the workload's selector does not match, a gate that nobody can pass, a Service for other pods. Probable mistakes are warnings.

Each PATH is read as a ReleaseSource reads spec.path: manifests below it, and built kustomizations. For a file, its folder is read
too, but only mistakes in the file are reported. The default is the current folder.

With --metrics or --metrics-provider, lint asks a server of metrics for the traffic of the last hour, and foresees how long each
comparison of a metrics gate takes. The queries of the files reach that server. SLUICE_METRICS_TOKEN has a bearer token for it.

The exit code is 0 on success, 1 on errors (with --strict also on warnings), and 2 on a usage error.`,
		Example: `  sluice lint
  sluice lint apps/web/release.yaml --strict
  sluice lint deploy -n shop -o github
  sluice lint --metrics http://localhost:9090 --metrics-provider provider.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error { return flags.run(cmd, paths) },
	}
	flags.source.register(command.Flags())
	flags.metrics.register(command.Flags())
	command.Flags().StringVarP(&flags.output, "output", "o", string(plain.Text),
		"output `format`: text, json, or github for annotations in GitHub Actions")
	command.Flags().BoolVar(&flags.strict, "strict", false, "treat warnings as errors")
	return command
}

func (f *lintFlags) run(cmd *cobra.Command, paths []string) error {
	if err := plain.Format(f.output).Check(lint.Formats); err != nil {
		return usageError{fmt.Errorf("--output %w", err)}
	}
	if err := f.source.helm.check(); err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	metrics, err := f.metrics.open(cmd.Context())
	if err != nil {
		return err
	}
	all := &lint.Report{}
	folders, err := byFolder(paths, f.source.marks())
	if err != nil {
		return err
	}
	for _, trees := range folders {
		report, err := f.check(cmd.Context(), trees, metrics)
		if err != nil {
			return err
		}
		all.Merge(report)
	}
	if err := all.Write(cmd.OutOrStdout(), plain.Format(f.output)); err != nil {
		return fmt.Errorf("write what was found: %w", err)
	}
	return all.Err(f.strict)
}

// byFolder returns the trees that paths name, those together that are read together. Marks are
// files that make a folder one which is read as a whole.
func byFolder(paths, marks []string) ([][]worktree, error) {
	var folders [][]worktree
	for _, path := range paths {
		tree, err := findWorktree(path, marks)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(folders, func(trees []worktree) bool {
			return trees[0].root == tree.root && trees[0].folder == tree.folder
		})
		if i < 0 {
			folders = append(folders, []worktree{tree})
			continue
		}
		folders[i] = append(folders[i], tree)
	}
	return folders, nil
}

// check reads a folder, once for all that is named of it. Files are named from the root of the
// repository for GitHub, which looks for them there, and else from the working folder.
func (f *lintFlags) check(ctx context.Context, trees []worktree, metrics *lint.Metrics) (*lint.Report, error) {
	tree := trees[0]
	files, err := tree.files()
	if err != nil {
		return nil, err
	}
	report, err := lint.Check(files, tree.folder, f.source.options(ctx), metrics)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tree.folder, err)
	}
	report.Keep(func(file string) bool {
		return slices.ContainsFunc(trees, func(named worktree) bool { return named.means(file) })
	})
	if f.output != string(plain.GitHub) {
		fromHere(report, tree.root)
	}
	return report, nil
}

// pointers returns pointers to the findings of several lists.
func pointers(lists ...[]lint.Finding) []*lint.Finding {
	var all []*lint.Finding
	for _, list := range lists {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// fromHere names files as seen from the working folder, where they are below it.
func fromHere(report *lint.Report, root string) {
	here, err := os.Getwd()
	if err != nil {
		return // then the names from the root do
	}
	for _, finding := range pointers(report.Findings, report.Notices) {
		file := &finding.File
		absolute := filepath.Join(root, filepath.FromSlash(*file))
		if *file = filepath.ToSlash(absolute); within(here, absolute) {
			*file = relative(here, absolute)
		}
	}
}
