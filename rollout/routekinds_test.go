package rollout

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// served is a cluster that serves kinds, or does not.
type served struct {
	t     *testing.T
	kinds *kinds
	clock *clocktesting.FakePassiveClock

	answer answer
	// refused is why the API server can't be asked, and broken why its answer can't be watched.
	refused, broken error
	asked           int
	// lives are all that were begun, lost what ends the last, and told how often releases were looked at for that.
	lives []*life
	lost  func()
	told  int
}

// cacheOf is the cache of one life.
type cacheOf struct {
	client.Client
	life int
}

func newServed(t *testing.T) *served {
	t.Helper()
	s := &served{t: t, clock: clocktesting.NewFakePassiveClock(time.Now())}
	ask := func(context.Context, schema.GroupVersionKind) (answer, error) {
		s.asked++
		return s.answer, s.refused
	}
	open := func(_ schema.GroupVersionKind, _ *metav1.APIResource, lost func()) (*life, error) {
		if s.broken != nil {
			return nil, s.broken
		}
		s.lost = lost
		l := &life{
			reader: cacheOf{life: len(s.lives)}, synced: func() bool { return true },
			start: func() {}, stop: func() {},
		}
		s.lives = append(s.lives, l)
		return l, nil
	}
	s.kinds = newKinds(s.clock, ask, open, func() { s.told++ })
	return s
}

var httpKind = route.GroupVersionKind(v1alpha1.RouteHTTP)

func (s *served) later(by time.Duration) { s.clock.SetTime(s.clock.Now().Add(by)) }

// want wants to see a kind so.
func (s *served) want(what string, want seenKind, wantErr error) {
	s.t.Helper()
	got, err := s.kinds.of(s.t.Context(), httpKind)
	if got != want || !errors.Is(err, wantErr) {
		s.t.Errorf("%s: want %+v, %v; got %+v, %v", what, want, wantErr, got, err)
	}
}

// TestWatchOfAKindIsRepeated: what could not be set up is set up from the beginning the next time.
func TestWatchOfAKindIsRepeated(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.answer.resource = &metav1.APIResource{}
	s.broken = errors.New("no connection")
	s.want("broken", seenKind{}, s.broken)
	s.broken = nil
	s.want("mended", seenKind{reader: cacheOf{life: 0}}, nil)
	s.want("again", seenKind{reader: cacheOf{life: 0}}, nil)
	if s.asked != 2 {
		t.Errorf("want the API server to be asked twice, got %d", s.asked)
	}
}

// TestNobodyWaitsForAnAnswer: while the API server is slow to answer one goroutine, others go on with what is known.
func TestNobodyWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.answer.resource = &metav1.APIResource{}
	s.want("served", seenKind{reader: cacheOf{life: 0}}, nil)
	slow, ask := route.GrantKinds[0], s.kinds.ask
	asked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	s.kinds.ask = func(ctx context.Context, kind schema.GroupVersionKind) (answer, error) {
		close(asked)
		<-goOn
		return ask(ctx, kind)
	}
	go func() {
		_, err := s.kinds.of(t.Context(), slow)
		ended <- err
	}()
	<-asked
	s.want("another kind", seenKind{reader: cacheOf{life: 0}}, nil)
	if _, err := s.kinds.of(t.Context(), slow); !errors.Is(err, errUnseen) {
		t.Errorf("want nothing known of the kind yet, got %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestKindIsNotServed: that a kind is not served the API server has to say twice, with some time in between. What it can't say is an error, and what
// was asked at the start does not count.
func TestKindIsNotServed(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	if err := s.kinds.begin(t.Context(), httpKind); err != nil {
		t.Fatal(err)
	}
	s.want("said once", seenKind{}, errUnseen)
	s.want("not asked again at once", seenKind{}, errUnseen)
	s.later(confirmedAfter)
	s.refused = errors.New("no connection")
	s.want("unknown", seenKind{}, s.refused)
	s.refused = nil
	s.want("said twice", seenKind{gone: true}, nil)
	if s.asked != 4 {
		t.Errorf("want the API server to be asked 4 times, got %d", s.asked)
	}
	s.answer.elsewhere = true
	s.want("known for a while", seenKind{gone: true}, nil)
	s.later(servedAgain)
	s.want("served in another version", seenKind{}, nil)
	s.answer = answer{resource: &metav1.APIResource{}}
	s.later(servedAgain)
	s.want("served", seenKind{reader: cacheOf{life: 0}}, nil)
}

// TestKindEndsAndComesAgain: nothing that was seen of a kind counts after its watch has found that it is not served any more.
func TestKindEndsAndComesAgain(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.answer.resource = &metav1.APIResource{}
	s.want("served", seenKind{reader: cacheOf{life: 0}}, nil)
	lost := s.lost
	s.answer.resource = nil
	lost()
	if got := s.kinds.now(httpKind); got.reader != nil || s.told != 1 {
		t.Errorf("want nothing seen of a kind that has ended, and releases looked at once; got %v, %d", got, s.told)
	}
	s.want("said once", seenKind{}, errUnseen)
	s.later(confirmedAfter)
	s.want("said twice", seenKind{gone: true}, nil)
	s.answer.resource = &metav1.APIResource{}
	s.later(servedAgain)
	s.want("again", seenKind{reader: cacheOf{life: 1}}, nil)
	lost()
	s.want("the end of the first is no end of the second", seenKind{reader: cacheOf{life: 1}}, nil)
	s.lost()
	s.want("ended and served again at once", seenKind{reader: cacheOf{life: 2}}, nil)
}
