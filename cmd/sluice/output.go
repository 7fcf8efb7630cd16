package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sluice-dev/sluice/internal/kube"
)

// formatWide is the table with more columns.
const formatWide = "wide"

// outputFlags say in which format objects are printed, as kubectl's do.
type outputFlags struct {
	print     *genericclioptions.PrintFlags
	wide      bool // there is such a format
	noHeaders bool
}

// newOutputFlags returns the flags of a verb. The word done, such as "approved", says what the verb
// does; it is empty for one that only reads.
func newOutputFlags(done string) *outputFlags {
	return &outputFlags{print: genericclioptions.NewPrintFlags(done)}
}

// register gives a command the flags.
func (f *outputFlags) register(command *cobra.Command) {
	f.print.AddFlags(command)
	set := command.Flags()
	set.Lookup("output").Usage = "`format` to print in: " + strings.Join(f.formats(), ", ")
	for _, name := range []string{"template", "allow-missing-template-keys", "show-managed-fields"} {
		markAsKubectl(set.Lookup(name))
	}
	// It only fails for a flag that is not there.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.formats(), cobra.ShellCompDirectiveNoFileComp))
}

// registerTable registers the flags of a command that prints a table by default.
func (f *outputFlags) registerTable(command *cobra.Command) {
	f.wide = true
	f.register(command)
	command.Flags().BoolVar(&f.noHeaders, "no-headers", false, "omit the header line")
}

func (f *outputFlags) formats() []string {
	if f.wide {
		return append([]string{formatWide}, f.print.AllowedFormats()...)
	}
	return f.print.AllowedFormats()
}

// given reports whether a format was asked for.
func (f *outputFlags) given() bool {
	return *f.print.OutputFormat != "" || *f.print.TemplatePrinterFlags.TemplateArgument != ""
}

// forPeople reports whether no format for machines was asked for.
func (f *outputFlags) forPeople() bool {
	return f.wide && (*f.print.OutputFormat == formatWide || !f.given())
}

// rows prints a table.
func (f *outputFlags) rows(command *cobra.Command, table *metav1.Table) error {
	if err := f.table().PrintObj(table, command.OutOrStdout()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// table prints tables, the headers once.
func (f *outputFlags) table() printers.ResourcePrinter {
	return printers.NewTablePrinter(printers.PrintOptions{NoHeaders: f.noHeaders, Wide: *f.print.OutputFormat == formatWide})
}

// printer prints objects in a format for machines. The scheme is made here, not with the flags:
// whichever command runs, also the controller, has the flags of all others in memory.
func (f *outputFlags) printer() (printers.ResourcePrinter, error) {
	if f.print.TypeSetterPrinter == nil {
		f.print.WithTypeSetter(kube.NewScheme())
	}
	printer, err := f.print.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, usageError{fmt.Errorf("--output %q is not one of %s", *f.print.OutputFormat, strings.Join(f.formats(), ", "))}
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--output: %w", err)}
	}
	return printer, nil
}

// check refuses a format that is none, before anything is done.
func (f *outputFlags) check() error {
	if f.forPeople() {
		return nil
	}
	_, err := f.printer()
	return err
}

// list prints objects as kubectl prints several: as a List, of which each says its kind.
func (f *outputFlags) list(command *cobra.Command, objects ...runtime.Object) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("encode object: %w", err)
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: content})
	}
	return f.object(command, list)
}

// objects prints objects that need not say their kinds.
func (f *outputFlags) objects(command *cobra.Command, scheme *runtime.Scheme, objects []client.Object) error {
	printed := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return fmt.Errorf("find kind of %s: %w", object.GetName(), err)
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		printed = append(printed, object)
	}
	return f.list(command, printed...)
}

// object prints one object.
func (f *outputFlags) object(command *cobra.Command, object runtime.Object) error {
	printer, err := f.printer()
	if err != nil {
		return err
	}
	if err := printer.PrintObj(object, command.OutOrStdout()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
