package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/dashboard/access"
)

// stuck is the API server for somebody whose requests are held up, as they are by the limit on each
// person's requests.
type stuck struct {
	client.WithWatch

	reading atomic.Int32
}

func (s *stuck) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	s.reading.Add(1)
	defer s.reading.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}

// quick is the API server for somebody else: it has no such release.
type quick struct{ client.WithWatch }

func (quick) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// TestOnesPagesHoldUpNobody: one person, or one tenant with many service accounts, who loads many
// pages at once holds up nobody else, whichever pages they are.
func TestOnesPagesHoldUpNobody(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]func(int) string{
		"person": func(int) string { return "mallory" },
		"tenant": func(i int) string { return fmt.Sprintf("system:serviceaccount:mallory:%d", i) },
	} {
		for page, show := range map[string]func(*Dashboard, *http.Request, *access.Viewer) (*answer, error){
			"release": (*Dashboard).showRelease, "diff": (*Dashboard).showDiff, "confirm": (*Dashboard).confirmAction,
		} {
			t.Run(name+" "+page, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { holdUp(t, who, show) })
			})
		}
	}
}

func holdUp(t *testing.T, who func(int) string, show func(*Dashboard, *http.Request, *access.Viewer) (*answer, error)) {
	t.Helper()
	d, api := New(Options{Logger: logr.Discard(), Clock: clock.RealClock{}}), &stuck{}
	ctx, leave := context.WithCancel(t.Context())
	ask := func(ctx context.Context, viewer *access.Viewer) error {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		for part, value := range map[string]string{"namespace": "shop", "name": "web", "action": "rollback"} {
			request.SetPathValue(part, value)
		}
		_, err := show(d, request, viewer)
		return err
	}
	for i := range 10 * readsAtOnce {
		go func() { _ = ask(ctx, &access.Viewer{Name: who(i), Client: api}) }()
	}
	synctest.Wait()
	if got := api.reading.Load(); got != readsOfOneParty {
		t.Errorf("%d pages are read at a time, want %d", got, readsOfOneParty)
	}
	soon, cancel := context.WithTimeout(t.Context(), timeout/2)
	defer cancel()
	if err := ask(soon, &access.Viewer{Name: "ada", Client: quick{}}); !apierrors.IsNotFound(err) {
		t.Errorf("somebody else's page is not read: %v", err)
	}
	if err := ask(soon, &access.Viewer{Name: who(0), Client: api}); !errors.Is(err, access.ErrBusy) {
		t.Errorf("who waits too long is not told why: %v", err)
	}
	leave()
	synctest.Wait()
	if len(d.reads.parties) > 0 || len(d.reads.places) > 0 {
		t.Errorf("%d parties and %d places are left", len(d.reads.parties), len(d.reads.places))
	}
}
