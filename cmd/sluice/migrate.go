package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/cli/migrate"
	"github.com/sluice-dev/sluice/internal/plain"
)

// maxAnalyses is the size of a file with analyses.
const maxAnalyses = 4 << 20

// migrateFlags are the flags of "sluice migrate analysis" as they were given.
type migrateFlags struct {
	prometheus, part string
	arguments        []string
}

func newMigrate() *cobra.Command {
	command := &cobra.Command{
		Use:     "migrate",
		GroupID: groupPush,
		Short:   "Translate manifests of other tools",
		Long:    "Translate manifests of Argo Rollouts and Flagger. docs/migration.md describes a whole migration.",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newMigrateAnalysis())
	return command
}

func newMigrateAnalysis() *cobra.Command {
	flags := &migrateFlags{}
	command := &cobra.Command{
		Use:   "analysis FILE...",
		Short: "Translate analyses of Argo Rollouts and Flagger into MetricProviders and gates",
		Long: `Translate AnalysisTemplates and ClusterAnalysisTemplates of Argo Rollouts, and MetricTemplates and the metrics of Canaries of Flagger.
It needs no cluster. The file - is standard input.

Standard output has MetricProviders to apply, and the gates of a step to paste into a BatchRelease. A metric of errors or latencies
is added as a comment in a form that compares the versions, and needs no threshold.

Standard error lists what has no equal, what means something else, and what is worth knowing, with file, line, field, and what to
do. Each field that is not translated is in the list.

A Rollout among the files gives the arguments of its analyses; all else of it is left as it is.

  exit code   meaning
  0           everything has an equal
  1           something was left out, or means something else
  2           the input can't be read, and nothing is written`,
		Example: `  sluice migrate analysis templates.yaml rollout.yaml
  sluice migrate analysis canary.yaml --prometheus http://prometheus.istio-system:9090
  kubectl get analysistemplates -n shop -o yaml | sluice migrate analysis - --only providers`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name a file with analyses, or - for standard input")}
			}
			return nil
		},
		RunE: flags.run,
	}
	set := command.Flags()
	set.StringVar(&flags.prometheus, "prometheus", "", "`address` of the Prometheus of metrics that name no server")
	set.StringArrayVar(&flags.arguments, "arg", nil, "`name=value` of an argument of an AnalysisTemplate; a variable such as $(revision) is kept; can be repeated")
	set.StringVar(&flags.part, "only", string(migrate.All), "`part` of the output: all, providers or gates")
	return command
}

func (f *migrateFlags) run(cmd *cobra.Command, names []string) error {
	options := migrate.Options{Prometheus: f.prometheus, Arguments: map[string]string{}}
	if !slices.Contains(migrate.Parts, migrate.Part(f.part)) {
		return usageError{fmt.Errorf("--only %q is not one of all, providers, gates", f.part)}
	}
	for _, argument := range f.arguments {
		name, value, found := strings.Cut(argument, "=")
		if !found || name == "" || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return usageError{fmt.Errorf("--arg %q is not name=value", argument)}
		}
		options.Arguments[name] = value
	}
	files, err := readAnalyses(cmd, names)
	if err != nil {
		return err
	}
	result, unread := migrate.Analyses(files, options)
	stderr := cmd.ErrOrStderr()
	for _, problem := range unread {
		fmt.Fprintf(stderr, "%s:%d:%d: error: %s\n", plain.Place(problem.File), problem.Line, problem.Column, plain.Line(problem.Message))
	}
	if unread != nil {
		return outcomeError{fmt.Errorf("%s: nothing is translated", plain.Count(len(unread), "error")), exitUsage}
	}
	for _, finding := range result.Findings {
		fmt.Fprintln(stderr, finding)
	}
	if result.Analyses == 0 {
		return fmt.Errorf("there is no AnalysisTemplate, MetricTemplate or Canary in %s", plain.Line(strings.Join(names, ", ")))
	}
	if err := result.Write(cmd.OutOrStdout(), migrate.Part(f.part)); err != nil {
		return fmt.Errorf("write what was translated: %w", err)
	}
	if result.Count(migrate.LeftOut)+result.Count(migrate.Changed) > 0 {
		return errors.New(result.Summary())
	}
	return nil
}

// readAnalyses reads files; - is standard input, once.
func readAnalyses(cmd *cobra.Command, names []string) ([]migrate.File, error) {
	var files []migrate.File
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, usageError{fmt.Errorf("%s is named twice", name)}
		}
		file := migrate.File{Name: name}
		var err error
		if name == "-" {
			file.Name = "stdin"
			file.Data, err = readUpTo(cmd.InOrStdin(), maxAnalyses)
		} else {
			file.Data, err = readFile(name, maxAnalyses)
		}
		if err != nil {
			return nil, outcomeError{fmt.Errorf("read %s: %w", plain.Place(file.Name), err), exitUsage}
		}
		files = append(files, file)
	}
	return files, nil
}

func readFile(name string, size int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readUpTo(file, size)
}

// readUpTo reads all of a source that has no more than a size.
func readUpTo(from io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, size+1))
	if err == nil && int64(len(data)) > size {
		err = fmt.Errorf("it is larger than %d MiB: split it", size>>20)
	}
	return data, err
}
