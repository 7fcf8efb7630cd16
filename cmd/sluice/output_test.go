package main

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/kube"
)

// TestFlagsMakeNoScheme: the process of every command has the flags of all commands, so a
// controller would keep a scheme for each command that prints.
func TestFlagsMakeNoScheme(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	scheme := testing.AllocsPerRun(1, func() { kube.NewScheme() })
	var made []*outputFlags
	flags := testing.AllocsPerRun(1, func() { made = append(made, newOutputFlags("asked for"), newActFlags().output) })
	if flags >= scheme {
		t.Errorf("the flags of two commands allocate %v times, want less than a scheme alone, %v times", flags, scheme)
	}
	for _, f := range made {
		if _, err := f.printer(); err != nil || f.print.TypeSetterPrinter == nil {
			t.Errorf("printer: %v, want one that sets the kind of what it prints", err)
		}
	}
}
