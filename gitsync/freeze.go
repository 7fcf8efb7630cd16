package gitsync

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// freezeAll writes the freeze of the repository to the releases that it covers, those whose file is wrong
// included, and takes it off the others. It comes before anything else that a commit brings.
func (p *pass) freezeAll(ctx context.Context) error {
	given := p.labelsInGit()
	for key, live := range p.releases {
		labels, found := given[key]
		if !found {
			labels = live.Labels
		}
		err := p.freeze(ctx, live, p.freezeOf(live.Namespace, labels, live))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.errors = append(p.errors, spec.Error{File: spec.FreezeFile, Message: err.Error()})
			p.retry = p.retry || transient(err)
		}
	}
	return nil
}

// labelsInGit are those that a freeze selects releases by; nil if there is none.
func (p *pass) labelsInGit() map[client.ObjectKey]map[string]string {
	if p.memory.freeze == nil {
		return nil
	}
	given := map[client.ObjectKey]map[string]string{}
	for _, release := range p.desired.Releases {
		given[keyOf(release)] = release.Object().GetLabels()
	}
	return given
}

// freezeOf is the annotation that a release is to have, empty if none. One that says the same stays as it is,
// with the commit that brought it.
func (p *pass) freezeOf(namespace string, labels map[string]string, live *v1alpha1.BatchRelease) string {
	freeze := p.memory.freeze
	if !freeze.Covers(namespace, labels) {
		return ""
	}
	value := v1alpha1.Freeze{Reason: freeze.Reason, Until: freeze.Until, Commit: p.memory.origin.commit}
	if live != nil {
		have := gitFreeze(live)
		if have != nil && have.Reason == value.Reason && have.Until.Equal(value.Until) {
			return live.Annotations[v1alpha1.FreezeAnnotation]
		}
	}
	text, _ := json.Marshal(value) // the type has nothing that JSON can't hold
	return string(text)
}

// gitFreeze is the freeze of a release that comes from Git; nil if it has none, or a person's.
func gitFreeze(release *v1alpha1.BatchRelease) *v1alpha1.Freeze {
	var freeze v1alpha1.Freeze
	text := release.Annotations[v1alpha1.FreezeAnnotation]
	if json.Unmarshal([]byte(text), &freeze) != nil || freeze.Commit == "" {
		return nil
	}
	return &freeze
}

// freeze lets a release have the annotation, or none that comes from Git. Where the cache is behind, what was
// written last tells that it is.
func (p *pass) freeze(ctx context.Context, live *v1alpha1.BatchRelease, text string) error {
	has := live.Annotations[v1alpha1.FreezeAnnotation]
	last, known := p.memory.frozen[client.ObjectKeyFromObject(live)]
	behind := known && last != text
	if text != "" && (has != text || behind) || text == "" && (gitFreeze(live) != nil || has == "" && behind) {
		return p.writeFreeze(ctx, live, text)
	}
	return nil
}

func (p *pass) writeFreeze(ctx context.Context, live *v1alpha1.BatchRelease, text string) error {
	var value any
	if text != "" {
		value = text
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.UID, "annotations": map[string]any{v1alpha1.FreezeAnnotation: value},
	}})
	if err != nil {
		return fmt.Errorf("encode freeze: %w", err)
	}
	written := &v1alpha1.BatchRelease{}
	written.Namespace, written.Name = live.Namespace, live.Name
	err = p.writer.Patch(ctx, written, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.OwnerFreeze))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write freeze of BatchRelease %s: %w", live.Name, err)
	}
	p.rememberFreeze(client.ObjectKeyFromObject(live), text)
	return nil
}

// rememberFreeze notes what a release was given.
func (p *pass) rememberFreeze(key client.ObjectKey, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.frozen[key] = text
}

// frozenNow tells whether a Deployment is not created yet: that would be a release, too.
func (p *pass) frozenNow(release *spec.Release) bool {
	freeze := p.memory.freeze
	return freeze.Covers(release.Namespace, release.Object().GetLabels()) &&
		(freeze.Until == nil || p.clock.Now().Before(freeze.Until.Time))
}
