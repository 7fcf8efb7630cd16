package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// A viewer sees the namespaces that the API server shows them, and people with one name and other groups see their own.
func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	other := cptest.Namespace(t)
	dev := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "dev-" + w.namespace}
	w.let(w.namespace, dev, sees)
	ops := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "ops-" + w.namespace}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "sees-"}, Rules: []rbacv1.PolicyRule{sees}}
	w.create(role)
	t.Cleanup(func() { _ = w.admin.Delete(context.Background(), role) })
	w.bind(role.Name, ops)
	inDev, inOps := w.viewer(identity{Name: "ada", Groups: []string{dev.Name}}), w.viewer(identity{Name: "ada", Groups: []string{ops.Name}})
	list := Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"}
	w.heard(inDev, list)
	w.heard(inOps, list)

	rights, among := NewRights(w.clock), []string{w.namespace, other, "default"}
	for name, tc := range map[string]struct {
		viewer      *Viewer
		all, theirs bool
		others      bool
	}{
		"dev":    {inDev, false, true, false},
		"ops":    {inOps, true, true, true},
		"nobody": {w.viewer(identity{Name: "ada"}), false, false, false},
	} {
		got, err := rights.Namespaces(t.Context(), tc.viewer, among)
		if err != nil {
			t.Fatal(err)
		}
		if got.All != tc.all || got.Has(w.namespace) != tc.theirs || got.Has(other) != tc.others || got.Has("default") != tc.others {
			t.Errorf("%s sees %+v", name, got)
		}
	}
	patch := Verb{Verb: "patch", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases", Subresource: "status", Name: "web"}
	if may, err := rights.May(t.Context(), inDev, w.namespace, patch); may || err != nil {
		t.Errorf("a viewer may patch: %v, %v", may, err)
	}
}

// reviewer answers reviews in the place of the API server, which can't be asked how often it was asked.
type reviewer struct {
	client.WithWatch

	asked   atomic.Int32
	atOnce  atomic.Int32
	most    atomic.Int32
	allowed func(*authorizationv1.ResourceAttributes) bool
	fails   error
}

func (r *reviewer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	r.asked.Add(1)
	r.most.Store(max(r.most.Load(), r.atOnce.Add(1)))
	defer r.atOnce.Add(-1)
	review := object.(*authorizationv1.SelfSubjectAccessReview)
	review.Status.Allowed = r.allowed(review.Spec.ResourceAttributes)
	return r.fails
}

// Answers are kept for seconds, and for each person, namespace and verb alone; failures are no answers.
func TestAnswersAreKeptForMoments(t *testing.T) {
	t.Parallel()
	api := &reviewer{allowed: func(*authorizationv1.ResourceAttributes) bool { return true }}
	clock := testingclock.NewFakeClock(time.Now())
	rights, ada := NewRights(clock), &Viewer{Name: "ada", Client: api}
	get := Verb{Verb: "get", Resource: "batchreleases"}
	ask := func(v *Viewer, namespace string, what Verb, wantMay bool, wantAsked int32) {
		t.Helper()
		if may, _ := rights.May(t.Context(), v, namespace, what); may != wantMay || api.asked.Load() != wantAsked {
			t.Errorf("%s may %+v in %s: %v after %d questions, want %v after %d", v.Name, what, namespace, may, api.asked.Load(), wantMay, wantAsked)
		}
	}
	ask(ada, "shop", get, true, 1)
	ask(ada, "shop", get, true, 1)
	ask(ada, "bank", get, true, 2)
	ask(ada, "shop", Verb{Verb: "patch", Resource: "batchreleases"}, true, 3)
	ask(&Viewer{Name: "ada", Groups: []string{"dev"}, Client: api}, "shop", get, true, 4)
	ask(&Viewer{Name: "bob", Client: api}, "shop", get, true, 5)
	api.allowed = func(*authorizationv1.ResourceAttributes) bool { return false }
	ask(ada, "shop", get, true, 5)
	clock.Step(rightsKept)
	ask(ada, "shop", get, false, 6)
	clock.Step(rightsKept)
	api.fails = errors.New("no route to host")
	api.allowed = func(*authorizationv1.ResourceAttributes) bool { return true }
	ask(ada, "shop", get, false, 7)
	ask(ada, "shop", get, false, 8)
	api.fails = nil
	ask(ada, "shop", get, true, 9)
}

// Of thousands of namespaces a viewer with rights in a few is asked for with bounds, and several pages of theirs ask once.
func TestManyNamespaces(t *testing.T) {
	t.Parallel()
	api := &reviewer{allowed: func(a *authorizationv1.ResourceAttributes) bool { return a.Namespace == "shop-7" }}
	rights, ada := NewRights(testingclock.NewFakeClock(time.Now())), &Viewer{Name: "ada", Client: api}
	var among []string
	for i := range 2000 {
		among = append(among, fmt.Sprintf("shop-%d", i))
	}
	var pages sync.WaitGroup
	for range 5 {
		pages.Go(func() {
			seen, err := rights.Namespaces(t.Context(), ada, among)
			if err != nil || seen.All || !seen.Has("shop-7") || seen.Has("shop-8") || len(seen.names) != 1 {
				t.Errorf("sees %v, %v", seen, err)
			}
		})
	}
	pages.Wait()
	if api.asked.Load() != 2001 || api.most.Load() > reviewsAtOnce {
		t.Errorf("asked %d times, %d at once, want 2001 and at most %d", api.asked.Load(), api.most.Load(), reviewsAtOnce)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if seen, err := NewRights(testingclock.NewFakeClock(time.Now())).Namespaces(ended, ada, among); err != nil && (seen.All || seen.Has("shop-7")) {
		t.Errorf("after an error sees %v", seen)
	}
}
