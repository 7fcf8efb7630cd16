package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
)

// writesAtOnce is how many objects of a source are written at a time.
const writesAtOnce = 8

// pass brings what one commit asks for into the cluster.
type pass struct {
	*Reconciler
	source  *v1alpha1.ReleaseSource
	memory  *memory
	desired *spec.Result
	writer  client.Client

	// releases of this source that the cache has, and the names of the Deployments in
	// their namespaces. Cached objects: they must not be changed.
	releases    map[client.ObjectKey]*v1alpha1.BatchRelease
	deployments map[client.ObjectKey]bool

	mu sync.Mutex // guards what follows while releases are written
	// errors of single objects, and whether one of them may go away by itself.
	errors []spec.Error
	retry  bool
	// applied, created and pruned are the names of what was written.
	applied, created, pruned []string
	// vanished are releases that are missing from Git as if by accident.
	vanished []spec.Error
	// held says why nothing is deleted that would be.
	held string
}

func (r *Reconciler) newPass(source *v1alpha1.ReleaseSource, memory *memory, desired *spec.Result) (*pass, error) {
	account := cmp.Or(source.Spec.ServiceAccountName, r.options.DefaultServiceAccount)
	writer, err := r.accounts.client(source.Namespace, account)
	if err != nil {
		return nil, err
	}
	return &pass{Reconciler: r, source: source, memory: memory, desired: desired, writer: writer}, nil
}

func (p *pass) run(ctx context.Context) error {
	if err := p.observe(ctx); err != nil {
		return err
	}
	if err := p.freezeAll(ctx); err != nil {
		return err
	}
	if err := p.applyAll(ctx); err != nil {
		return err
	}
	return p.prune(ctx)
}

// observe lists what the cache has of this source's releases, and which Deployments there are.
func (p *pass) observe(ctx context.Context) error {
	p.releases, p.deployments = map[client.ObjectKey]*v1alpha1.BatchRelease{}, map[client.ObjectKey]bool{}
	for _, namespace := range p.specOptions(p.source).Namespaces() {
		var releases v1alpha1.BatchReleaseList
		mine := client.MatchingLabels{v1alpha1.SourceLabel: p.source.LabelIn(namespace)}
		if err := p.client.List(ctx, &releases, client.InNamespace(namespace), mine, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list releases of the source in %s: %w", namespace, err)
		}
		for i := range releases.Items {
			p.releases[client.ObjectKeyFromObject(&releases.Items[i])] = &releases.Items[i]
		}
		var deployments appsv1.DeploymentList
		if err := p.client.List(ctx, &deployments, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list Deployments in %s: %w", namespace, err)
		}
		for i := range deployments.Items {
			p.deployments[client.ObjectKeyFromObject(&deployments.Items[i])] = true
		}
	}
	return nil
}

// applyAll writes what is not as Git asks. What goes wrong with one release is an
// error of its file; only the end of ctx ends it.
func (p *pass) applyAll(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(writesAtOnce)
	for _, release := range p.desired.Releases {
		if p.settled(release) {
			continue
		}
		group.Go(func() error {
			if err := p.apply(ctx, release); err != nil {
				p.fail(release, err)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (p *pass) fail(release *spec.Release, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, spec.Error{File: release.File, Line: release.Line, Message: kube.Refusal(err)})
	p.retry = p.retry || transient(err)
}

func (p *pass) note(list *[]string, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, name)
}
