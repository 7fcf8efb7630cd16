package spec

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// eachGate visits the gates of a release with their paths.
func eachGate(spec *v1alpha1.BatchReleaseSpec, visit func(at *field.Path, policy *v1alpha1.GatePolicy)) {
	in := func(steps []v1alpha1.Step, path *field.Path) {
		for i := range steps {
			for j := range steps[i].Gates {
				visit(path.Index(i).Child("gates").Index(j), &steps[i].Gates[j])
			}
		}
	}
	in(spec.Strategy.Steps, field.NewPath("spec", "strategy", "steps"))
	if spec.Rollback != nil {
		in(spec.Rollback.Steps, field.NewPath("spec", "rollback", "steps"))
	}
}

// checkGatesOf returns the paths of the gates of a release that wait for a check run.
func checkGatesOf(spec *v1alpha1.BatchReleaseSpec) []string {
	var found []string
	eachGate(spec, func(at *field.Path, policy *v1alpha1.GatePolicy) {
		if policy.CheckRun != nil {
			found = append(found, at.Child("checkRun").String())
		}
	})
	return found
}

// answerable reports whether the forge of the repository has what the gates of a release wait for.
// What it lacks is an error, since such a gate would wait for ever.
func (p *pass) answerable(l located) bool {
	can, known := forge.CapabilitiesOf(p.opts.Forge)
	if !known || can.CheckRuns {
		return true
	}
	for _, path := range l.checks {
		p.failField(l, path, fmt.Sprintf("%s has no check runs: use commitStatus, which its CI posts", p.opts.Forge))
	}
	return len(l.checks) == 0
}

// failField reports what is wrong with a field of a release, at its line if a file has it.
func (p *pass) failField(l located, path, message string) {
	position := l.at
	if l.kustomization == "" {
		position = p.find(Place{l.file, l.at.line}, path)
	}
	p.fail(l.file, position, path+": "+message)
}
