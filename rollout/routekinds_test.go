package rollout

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// served is a cluster that serves kinds, or does not.
type served struct {
	t     *testing.T
	kinds *routeKinds
	clock *clocktesting.FakePassiveClock

	answer answer
	// refused is the error with which the API server can't be asked.
	refused error
	asked   int
	// restarts are the errors with which the controller was ended.
	restarts []error
}

type cacheOfRoutes struct{ client.Client }

var (
	httpKind = route.GroupVersionKind(v1alpha1.RouteHTTP)
	grpcKind = route.GroupVersionKind(v1alpha1.RouteGRPC)
)

// newServed returns a cluster that served GRPCRoutes at the start, and no HTTPRoutes.
func newServed(t *testing.T) *served {
	t.Helper()
	s := &served{t: t, clock: clocktesting.NewFakePassiveClock(time.Now())}
	ask := func(context.Context, schema.GroupVersionKind) (answer, error) {
		s.asked++
		return s.answer, s.refused
	}
	s.kinds = newKinds(s.clock, ask, func(err error) { s.restarts = append(s.restarts, err) })
	s.kinds.served[grpcKind] = cacheOfRoutes{}
	return s
}

func (s *served) later(by time.Duration) { s.clock.SetTime(s.clock.Now().Add(by)) }

// want checks what is seen of HTTPRoutes, and how often the controller was ended.
func (s *served) want(what string, want seenKind, wantErr error, restarts int) {
	s.t.Helper()
	got, err := s.kinds.of(s.t.Context(), httpKind)
	if got != want || !errors.Is(err, wantErr) {
		s.t.Errorf("%s: want %+v, %v; got %+v, %v", what, want, wantErr, got, err)
	}
	s.wantRestarts(what, restarts)
}

func (s *served) wantRestarts(what string, want int) {
	s.t.Helper()
	if len(s.restarts) != want {
		s.t.Errorf("%s: want %d restarts, got %v", what, want, s.restarts)
	}
	for _, err := range s.restarts {
		if !errors.Is(err, ErrKindsChanged) {
			s.t.Errorf("%s: the controller ends with %v", what, err)
		}
	}
}

// TestNobodyWaitsForAnAnswer: while the API server is slow to answer one goroutine, others go on
// with what is known.
func TestNobodyWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	ask := s.kinds.ask
	asked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	s.kinds.ask = func(ctx context.Context, kind schema.GroupVersionKind) (answer, error) {
		close(asked)
		<-goOn
		return ask(ctx, kind)
	}
	go func() {
		_, err := s.kinds.of(t.Context(), httpKind)
		ended <- err
	}()
	<-asked
	if got, err := s.kinds.of(t.Context(), grpcKind); err != nil || got.reader == nil {
		t.Errorf("want another kind seen, got %+v, %v", got, err)
	}
	s.want("nothing is known yet", seenKind{}, errUnseen, 0)
	close(goOn)
	if err := <-ended; !errors.Is(err, errUnseen) {
		t.Error(err)
	}
}

// TestKindIsNotServed: the API server has to say twice that it does not serve a kind, with some
// time in between.
func TestKindIsNotServed(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.want("said once", seenKind{}, errUnseen, 0)
	s.want("not asked again at once", seenKind{}, errUnseen, 0)
	s.later(confirmedAfter)
	s.refused = errors.New("no connection")
	s.want("unknown", seenKind{}, s.refused, 0)
	s.refused = nil
	s.want("said twice", seenKind{gone: true}, nil, 0)
	if s.asked != 3 {
		t.Errorf("want the API server to be asked 3 times, got %d", s.asked)
	}
	s.answer.elsewhere = true
	s.want("known for a while", seenKind{gone: true}, nil, 0)
	s.later(servedAgain)
	s.want("served in another version", seenKind{}, nil, 0)
	s.answer = answer{served: true}
	s.later(servedAgain)
	s.want("served", seenKind{}, errUnseen, 1)
}

// TestKindGoes: a kind that was served at the start ends the controller once the API server has
// said twice that it is gone.
func TestKindGoes(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.answer = answer{served: true}
	s.kinds.lost(t.Context())
	s.answer = answer{}
	s.kinds.lost(t.Context())
	s.kinds.lost(t.Context())
	s.wantRestarts("said once", 0)
	s.later(confirmedAfter)
	s.refused = errors.New("no connection")
	s.kinds.lost(t.Context())
	s.wantRestarts("unknown", 0)
	s.answer, s.refused = answer{served: true}, nil
	s.kinds.lost(t.Context())
	s.answer = answer{}
	s.kinds.lost(t.Context())
	s.wantRestarts("it came back in between", 0)
	s.later(confirmedAfter)
	s.kinds.lost(t.Context())
	s.wantRestarts("said twice", 1)
}
