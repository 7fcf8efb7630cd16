package dashboard

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// many are releases as a cache has them.
type many []v1alpha1.BatchRelease

func (m many) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// revisions are ControllerRevisions as a cache has them.
type revisions []appsv1.ControllerRevision

func (r revisions) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (r revisions) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*appsv1.ControllerRevisionList).Items = slices.Clone(r)
	return nil
}

// TestHistoriesAreOfReleasesAlone: the native controller copies labels and annotations of a
// StatefulSet to its revisions: with them, a tenant who makes one would write the history of a
// release.
func TestHistoriesAreOfReleasesAlone(t *testing.T) {
	t.Parallel()
	kept := func(owner metav1.OwnerReference) appsv1.ControllerRevision {
		owner.Controller, owner.UID = new(true), "u"
		return appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			Name: owner.Kind + "-" + owner.Name, Labels: map[string]string{v1alpha1.ReleaseLabel: "pay"}, OwnerReferences: []metav1.OwnerReference{owner},
		}}
	}
	release := v1alpha1.GroupVersion.String()
	b := newBoard(revisions{
		kept(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "pay"}),
		kept(metav1.OwnerReference{APIVersion: release, Kind: "BatchRelease", Name: "pay"}),
		kept(metav1.OwnerReference{APIVersion: release, Kind: "BatchRelease", Name: "other"}),
		{ObjectMeta: metav1.ObjectMeta{Name: "nobody's", Labels: map[string]string{v1alpha1.ReleaseLabel: "pay"}}},
	}, clock.RealClock{})
	all, err := b.kept(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "BatchRelease-pay" {
		t.Errorf("got %v, %v", all, err)
	}
}

func (m many) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.BatchReleaseList).Items = m
	return nil
}

func releases(n int) many {
	var all many
	for i := range n {
		all = append(all, v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%50), Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: "1"},
			Status:     v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, Message: "all pods run revision 7d759c9c4b", CommitSubject: "Rank titles above texts"},
		})
	}
	return all
}

// TestRowsAreMadeOfWhatHasChanged: Rows are made again of what has changed alone, and only once
// somebody looks.
func TestRowsAreMadeOfWhatHasChanged(t *testing.T) {
	t.Parallel()
	all := releases(3)
	b := newBoard(all, clock.RealClock{})
	first, err := b.all(t.Context())
	if err != nil || len(first) != 3 {
		t.Fatalf("got %d rows, %v", len(first), err)
	}
	all[1].ResourceVersion, all[1].Status.UpdatedReplicas = "2", 7
	if again, _ := b.all(t.Context()); again[1] != first[1] || again[1].Updated == 7 {
		t.Errorf("nobody has said that something changed: %+v", again[1])
	}
	b.stale.Store(true)
	again, _ := b.all(t.Context())
	if again[0] != first[0] || again[1] == first[1] || again[1].Updated != 7 || again[2] != first[2] {
		t.Errorf("the one that has changed is made again: %+v", again)
	}
}

// BenchmarkListOfTenThousand renders the first page of ten thousand releases after a change of
// one.
func BenchmarkListOfTenThousand(b *testing.B) {
	all := releases(10_000)
	list := newBoard(all, clock.RealClock{})
	no := func(string) bool { return false }
	for i := 0; b.Loop(); i++ {
		all[i%len(all)].ResourceVersion = fmt.Sprint(i + 2)
		list.stale.Store(true)
		rows, err := list.all(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		content := view.Select(rows, view.Query{Page: 1}, view.Viewer{Approves: no, Operates: no}, time.Now())
		if _, err := page.Render(page.Releases, &page.Frame{Content: content}); err != nil {
			b.Fatal(err)
		}
	}
}
