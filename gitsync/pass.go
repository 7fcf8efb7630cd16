package gitsync

import (
	"cmp"
	"context"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// pass brings what one commit asks for into the cluster: it observes, asks the plan, and carries
// out what that says until there is nothing left to do.
type pass struct {
	observer
	executor

	source   *v1alpha1.ReleaseSource
	memory   *memory
	desired  plan.Desired
	observed plan.Observed
	sent     map[plan.Sent]plan.Fate
	// plan is the last one, which says what the result is.
	plan plan.Plan
	// failures of writes, and the names of what was written.
	failures        []failure
	applied, pruned []plan.Key
	created         []plan.CreateWorkload
	// edits lists the edits that planned writes undo, and undone those already undone.
	edits  map[plan.Key]edit
	undone []edit
	// copyProblems say what is in the way of looking after copies.
	copyProblems []spec.Error
}

func (r *Reconciler) newPass(source *v1alpha1.ReleaseSource, memory *memory, content *spec.Result) (*pass, error) {
	account := cmp.Or(source.Spec.ServiceAccountName, r.options.DefaultServiceAccount)
	writer, err := r.accounts.client(source.Namespace, account)
	if err != nil {
		return nil, err
	}
	reader := client.Reader(writer)
	if account == "" { // whose client reads from caches
		reader = r.live
	}
	return &pass{
		observer: observer{cached: r.client, live: r.live, clock: r.clock, namespaces: r.specOptions(source).Namespaces()},
		executor: executor{writer: writer, reader: reader, asAccount: account != ""},
		source:   source,
		memory:   memory,
		desired:  plan.Desired{Source: source, Content: content, Freeze: memory.freeze, Origin: memory.origin, Before: memory.before, ReadAt: memory.readAt},
		sent:     map[plan.Sent]plan.Fate{},
		edits:    map[plan.Key]edit{},
	}, nil
}

func (p *pass) run(ctx context.Context) error {
	var err error
	if p.observed, err = p.observe(ctx, p.desired, p.memory); err != nil {
		return err
	}
	for {
		p.plan = plan.Next(p.desired, p.observed, plan.Remembered{Applied: p.memory.applied, Sent: p.sent})
		maps.Copy(p.memory.applied, p.plan.Settled)
		if len(p.plan.Writes) == 0 {
			p.tend(ctx)
			p.memory.keepOnly(p.desired.Content.Releases, p.observed.Releases)
			return nil
		}
		p.seeEditors(ctx)
		for _, result := range p.carryOut(ctx, p.plan.Writes) {
			if err := p.take(ctx, result); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// keepOnly forgets what was written of releases that Git does not have any more, or that are gone.
func (m *memory) keepOnly(wanted []*spec.Release, there map[plan.Key]*v1alpha1.BatchRelease) {
	maps.DeleteFunc(m.soleOwner, func(key plan.Key, _ soleOwned) bool { return there[key] == nil })
	maps.DeleteFunc(m.tended, func(key plan.Key, _ tended) bool { return there[key] == nil })
	m.keepClaims(wanted)
	if len(m.applied) <= len(wanted) {
		return
	}
	kept := map[client.ObjectKey]plan.Applied{}
	for _, release := range wanted {
		if last, found := m.applied[plan.KeyOf(release)]; found {
			kept[plan.KeyOf(release)] = last
		}
	}
	m.applied = kept
}
