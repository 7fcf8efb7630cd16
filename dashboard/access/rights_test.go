package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestWhoSeesWhat: a viewer sees the namespaces that the API server shows them, and people with one
// name and other groups see their own.
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

// reviewer answers reviews in the place of the API server, which can't be asked how often it was
// asked.
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

// TestAnswersAreKeptForMoments: answers are kept for seconds, and for each person, namespace and
// verb alone; failures are no answers.
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

// TestManyNamespaces: of thousands of namespaces a viewer with rights in a few is asked for with
// bounds, and several pages of theirs ask once.
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
	if api.asked.Load() != 2001 || api.most.Load() > personsOwnTurns {
		t.Errorf("asked %d times, %d at once, want 2001 and at most %d", api.asked.Load(), api.most.Load(), personsOwnTurns)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if seen, err := NewRights(testingclock.NewFakeClock(time.Now())).Namespaces(ended, ada, among); err != nil && (seen.All || seen.Has("shop-7")) {
		t.Errorf("after an error sees %v", seen)
	}
}

// stuck answers no review before it is let go or who asks has gone, as a client does whose limit is
// used up.
type stuck struct {
	client.WithWatch

	asked atomic.Int32
	let   chan struct{}
}

func (s *stuck) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	s.asked.Add(1)
	select {
	case <-s.let:
		object.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var listThem = Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"}

// TestNobodyHoldsUpOthers: However many pages one person opens, others are answered, and of the one
// nothing is left once they have gone.
func TestNobodyHoldsUpOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rights := NewRights(testingclock.NewFakeClock(time.Now()))
		slow, open := &stuck{let: make(chan struct{})}, &reviewer{allowed: func(*authorizationv1.ResourceAttributes) bool { return true }}
		greedy, modest := &Viewer{Name: "greedy", Client: slow}, &Viewer{Name: "modest", Client: open}
		ctx, leave := context.WithCancel(t.Context())
		for i := range 1700 {
			go func() { _, _ = rights.May(ctx, greedy, fmt.Sprintf("shop-%d", i), listThem) }()
		}
		synctest.Wait()
		if got := slow.asked.Load(); got != personsOwnTurns {
			t.Errorf("one person has %d reviews at a time, want %d", got, personsOwnTurns)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if may, err := rights.May(soon, modest, "shop", listThem); !may || err != nil {
			t.Errorf("another waits for their turn: %v, %v", may, err)
		}
		leave()
		synctest.Wait()
		if len(rights.people) > 0 || len(rights.turns) > 0 {
			t.Errorf("left of those who have gone: %v and %d turns", rights.people, len(rights.turns))
		}
	})
}

// TestEqualQuestionsAreAskedOnce: who asks what is being asked waits for the same answer, and asks
// themselves if whoever asked first goes.
func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rights, api := NewRights(testingclock.NewFakeClock(time.Now())), &stuck{let: make(chan struct{})}
		ada := &Viewer{Name: "ada", Client: api}
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := rights.May(first, ada, "shop", listThem)
			left <- err
		}()
		synctest.Wait()
		var may atomic.Int32
		for range 100 {
			go func() {
				if yes, err := rights.May(t.Context(), ada, "shop", listThem); yes && err == nil {
					may.Add(1)
				}
			}()
		}
		synctest.Wait()
		if got := api.asked.Load(); got != 1 {
			t.Errorf("101 pages ask %d times, want once", got)
		}
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone is told %v", err)
		}
		synctest.Wait()
		if got := api.asked.Load(); got != 2 {
			t.Errorf("after the first has gone it was asked %d times, want twice", got)
		}
		close(api.let)
		synctest.Wait()
		if may.Load() != 100 || api.asked.Load() != 2 {
			t.Errorf("%d of 100 have the answer after %d questions", may.Load(), api.asked.Load())
		}
	})
}

// TestAnswersThatComeInTheMeantime: an answer that comes while somebody waits for a turn is not
// asked for again.
func TestAnswersThatComeInTheMeantime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rights := NewRights(testingclock.NewFakeClock(time.Now()))
		api := &reviewer{allowed: func(*authorizationv1.ResourceAttributes) bool { return false }}
		ada := &Viewer{Name: "ada", Client: api}
		for range reviewsAtOnce {
			rights.turns <- struct{}{}
		}
		came := make(chan bool)
		go func() {
			may, _ := rights.May(t.Context(), ada, "shop", listThem)
			came <- may
		}()
		synctest.Wait()
		asked := question{ada.identifies(), "shop", listThem}
		rights.kept.Put(asked, &answer{true, rights.clock.Now().Add(time.Second)}, 1)
		<-rights.turns
		if may := <-came; !may || api.asked.Load() != 0 {
			t.Errorf("may: %v after %d questions, want the answer that had come", may, api.asked.Load())
		}
	})
}

// TestPagesOfOthers: each person has a turn of their own for their pages.
func TestPagesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rights, slow := NewRights(testingclock.NewFakeClock(time.Now())), &stuck{let: make(chan struct{})}
		open := &reviewer{allowed: func(*authorizationv1.ResourceAttributes) bool { return true }}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		go func() { _, _ = rights.Namespaces(ctx, &Viewer{Name: "greedy", Client: slow}, nil) }()
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 500 {
			if seen, err := rights.Namespaces(soon, &Viewer{Name: fmt.Sprint("modest-", i), Client: open}, nil); !seen.All || err != nil {
				t.Fatalf("modest-%d sees %v, %v", i, seen, err)
			}
		}
	})
}

// TestEverywhereIsAskedFirst: rights in all namespaces take one request, not one for each
// namespace.
func TestEverywhereIsAskedFirst(t *testing.T) {
	t.Parallel()
	for everywhere, want := range map[bool]int32{true: 1, false: 11} {
		api := &reviewer{allowed: func(a *authorizationv1.ResourceAttributes) bool { return everywhere || a.Namespace == "shop-3" }}
		rights, ada := NewRights(testingclock.NewFakeClock(time.Now())), &Viewer{Name: "ada", Client: api}
		for i := range 10 {
			if may, err := rights.In(t.Context(), ada, fmt.Sprint("shop-", i), listThem); err != nil || may != (everywhere || i == 3) {
				t.Errorf("in shop-%d: %v, %v", i, may, err)
			}
		}
		if api.asked.Load() != want {
			t.Errorf("asked %d times, want %d", api.asked.Load(), want)
		}
	}
}
