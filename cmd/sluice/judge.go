package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// judgeFlags are the flags of "sluice judge" as they were given.
type judgeFlags struct {
	kube   *kubeFlags
	output *outputFlags
	replay string
}

func newJudge() *cobra.Command {
	flags := &judgeFlags{kube: newKubeFlags(), output: newOutputFlags("")}
	command := &cobra.Command{
		Use:     "judge [RELEASE]",
		GroupID: groupLook,
		Short:   "Judge the metrics of a release again, by the evidence in its gates",
		Long: `Judge the comparisons of a release again, by the evidence that its gates have, and print each verdict: the counts of both versions, the
ratio of their shares of errors, and the outcome. It asks no server of metrics.

With --replay, the gates come from a file, as kubectl get gate -o yaml prints them.

The exit code is 0 if each gate says what its evidence comes to, and 1 otherwise.`,
		Example: `  sluice judge web -n shop
  kubectl get gates -n shop -o yaml | sluice judge --replay=-`,
		ValidArgsFunction: flags.kube.completeReleases,
		RunE:              flags.run,
	}
	command.Flags().StringVar(&flags.replay, "replay", "", "`file` with Gates in YAML or JSON; - is the standard input")
	flags.output.registerTable(command)
	flags.kube.register(command)
	return command
}

func (f *judgeFlags) run(command *cobra.Command, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	gates, err := f.gates(command, args)
	if err != nil {
		return err
	}
	table, differs := verdictTable(gates)
	switch {
	case len(table.Rows) == 0 && differs == nil:
		return f.nothing(len(gates))
	case f.output.forPeople():
		err = f.output.rows(command, table)
	default:
		objects := make([]runtime.Object, len(gates))
		for i := range gates {
			gates[i].SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Gate"))
			objects[i] = &gates[i]
		}
		err = f.output.list(command, objects...)
	}
	return cmp.Or(err, differs)
}

// nothing says why so many gates have nothing to judge.
func (f *judgeFlags) nothing(gates int) error {
	switch {
	case gates > 0:
		return errors.New("no gate has compared anything yet")
	case f.replay != "":
		return fmt.Errorf("--replay: %s has no Gate: give what kubectl get gates -o yaml prints", plain.Place(f.replay))
	}
	return errors.New("the release has no gates now: a rollback deletes them, and sluice history says why it began")
}

// gates returns the gates of a release, or those in a file.
func (f *judgeFlags) gates(command *cobra.Command, args []string) ([]v1alpha1.Gate, error) {
	if f.replay != "" {
		if len(args) > 0 {
			return nil, usageError{errors.New("name a release or --replay a file, not both")}
		}
		return readGates(f.replay, command.InOrStdin())
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return nil, err
	}
	whole, err := lookup.Whole(command.Context(), c, client.ObjectKeyFromObject(release))
	if err != nil {
		return nil, err
	}
	return whole.Gates, nil
}

// maxGates is the size of a file of Gates.
const maxGates = 16 << 20

// readGates reads a Gate or a list of them.
func readGates(name string, stdin io.Reader) ([]v1alpha1.Gate, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--replay: %w", err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxGates+1)) // a device has no size
	switch {
	case err != nil:
		return nil, fmt.Errorf("--replay: %w", err)
	case len(text) > maxGates:
		return nil, fmt.Errorf("--replay: %s has more than %d bytes", name, maxGates)
	}
	documents, unread := spec.Documents(text, spec.Limits{})
	if len(unread) > 0 {
		return nil, fmt.Errorf("--replay: %s:%d: %s", plain.Place(name), unread[0].Line, plain.Line(unread[0].Message))
	}
	var gates []v1alpha1.Gate
	for _, document := range documents {
		in, err := gatesIn(document.Value)
		if err != nil {
			return nil, fmt.Errorf("--replay: %s: %w", plain.Place(name), err)
		}
		gates = append(gates, in...)
	}
	return gates, nil
}

// gatesIn returns the Gates in a document: one, or those of a list.
func gatesIn(document any) ([]v1alpha1.Gate, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var list struct {
		v1alpha1.Gate `json:",inline"`
		Items         []v1alpha1.Gate `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.New(plain.Line(err.Error()))
	}
	if list.Kind == "Gate" {
		return []v1alpha1.Gate{list.Gate}, nil
	}
	return list.Items, nil
}
