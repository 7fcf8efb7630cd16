package gitsync

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/internal/plain"
)

// edit records an out-of-band change of a release that the source has undone.
type edit struct {
	release *v1alpha1.BatchRelease
	fields  []string
	// by is the field manager, and when; empty if nobody is recorded.
	by string
}

// seeEditors reads who changed the releases that are about to be restored: the write takes the
// fields, and the record with them.
func (p *pass) seeEditors(ctx context.Context) {
	for _, write := range p.plan.Writes {
		apply, is := write.(plan.ApplyRelease)
		if !is || len(apply.Edited) == 0 {
			continue
		}
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchRelease"))
		key := client.ObjectKeyFromObject(apply.Live)
		if p.live.Get(ctx, key, live) != nil { // the event names nobody then
			live.ManagedFields = nil
		}
		p.edits[key] = edit{apply.Live, apply.Edited, lastEditor(live.ManagedFields)}
	}
}

// lastEditor names the field manager that wrote last, of those other than Sluice.
func lastEditor(managed []metav1.ManagedFieldsEntry) string {
	var last *metav1.ManagedFieldsEntry
	for i := range managed {
		entry := &managed[i]
		ours := entry.Manager == v1alpha1.OwnerGitsync || entry.Manager == v1alpha1.OwnerRollout || entry.Manager == v1alpha1.OwnerFreeze
		if ours || entry.Subresource != "" || entry.Time == nil || last != nil && !last.Time.Before(entry.Time) {
			continue
		}
		last = entry
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("field manager %q at %s", last.Manager, last.Time.UTC().Format(time.RFC3339))
}

// words returns a description of the change, its author, and the fields that stay.
func (e edit) words() string {
	by := e.by
	if by == "" {
		by = "somebody"
	}
	return plain.UpTo(fmt.Sprintf("%s changed %s out of band, and the ReleaseSource has restored what Git has; pods that were updated meanwhile stay: "+
		"to take them back, run 'sluice rollback %s -n %s'", by, strings.Join(e.fields, ", "), e.release.Name, e.release.Namespace), longestMessage)
}
