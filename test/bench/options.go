package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// options holds the flags of the command line.
type options struct {
	// runs is how often each bench is run; its numbers are the median of these.
	runs int
	// only are the benches to run, all if there are none.
	only []string
	// strict makes a number that is not what is wanted an error.
	strict bool
	// logs is the folder that all logs, and the data of the control planes, are kept in; empty for
	// none.
	logs string
}

const synopsis = `Measures Sluice next to the native rolling update and Argo Rollouts, on control planes of its own.

Usage: bench [flags]

`

// parseOptions reads the command line. It tells on out what is wrong with it, or all flags when
// asked for help.
func parseOptions(args []string, out io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, synopsis)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.runs, "runs", 3, "how often to run each bench; the median is shown")
	flags.Func("only", "run only these benches, for example `B1,B3`", func(list string) error {
		o.only = strings.Split(strings.ToUpper(strings.ReplaceAll(list, " ", "")), ",")
		return nil
	})
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 if a number is not what is wanted")
	flags.StringVar(&o.logs, "logs", "", "keep all logs, and the control planes' data, in this empty `folder`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	err := o.validate(flags.Args())
	if err != nil {
		fmt.Fprintln(out, "bench:", err)
	}
	return o, err
}

func (o options) validate(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	if o.runs < 1 {
		return errors.New("--runs must be at least 1")
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(benches, func(b bench) bool { return b.name == name }) {
			return fmt.Errorf("--only: there is no bench %q", name)
		}
	}
	return nil
}

// selected returns the benches to run, in their order.
func (o options) selected() []bench {
	if len(o.only) == 0 {
		return benches
	}
	return slices.DeleteFunc(slices.Clone(benches), func(b bench) bool { return !slices.Contains(o.only, b.name) })
}
