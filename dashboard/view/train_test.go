package view

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestOrderOfTrains: members follow their train, which has the place of the one that needs most.
func TestOrderOfTrains(t *testing.T) {
	t.Parallel()
	row := func(name, train string, phase v1alpha1.Phase) *Row {
		of := release(name, phase)
		of.Spec.Train = train
		made := RowOf(of, now)
		return &made
	}
	rows := []*Row{
		row("api", "shop", v1alpha1.PhaseCompleted), row("blog", "", v1alpha1.PhaseRollingUpdate), row("db", "shop", v1alpha1.PhaseFailed),
		row("shop", "", v1alpha1.PhaseRollingUpdate), row("wiki", "", v1alpha1.PhaseCompleted),
	}
	Order(rows)
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	if want := []string{"shop", "db", "api", "blog", "wiki"}; !slices.Equal(names, want) {
		t.Errorf("want %q, got %q", want, names)
	}
}
