package github_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

// TestOwnLimitOnWrites: no more is written in an hour than is allowed, a part of that is kept for
// what people wait for, and nothing is kept from being read.
func TestOwnLimitOnWrites(t *testing.T) {
	t.Parallel()
	const perHour = 20
	s := serve(t, answering(201, `{"id":1,"state":"success","context":"x"}`))
	now := newClock()
	client := clientOf(t, s.URL, at(now), func(o *github.Options) { o.WritesPerHour = perHour })
	post := func(ctx context.Context) error {
		_, err := client.PostStatus(ctx, forge.StatusRequest{SHA: someCommit, Context: "x", State: forge.StateSuccess})
		return err
	}
	until := func(ctx context.Context) (sent int, err error) {
		for err == nil {
			if err = post(ctx); err == nil {
				sent++
			}
		}
		return sent, err
	}
	waiting, err := until(forge.CanWait(t.Context()))
	limited, is := errors.AsType[*forge.LimitedError](err)
	if waiting != 8 || !is || !limited.Own || limited.Every != 6*time.Minute || limited.Until.Sub(now.Now()).Round(time.Second) != 6*time.Minute {
		t.Errorf("want 8 of 10 sent, and the next in 6 minutes, got %d, %+v", waiting, limited)
	}
	first, err := until(t.Context())
	if first != 2 || forge.KindOf(err) != forge.Limited {
		t.Errorf("want the other 2 sent for people, got %d, %v", first, err)
	}
	if sent := s.count(); sent != waiting+first {
		t.Errorf("want no request sent that waits, got %d", sent)
	}
	sent := 0
	for range 61 {
		now.advance(time.Minute)
		more, _ := until(t.Context())
		sent += more
	}
	if waiting+first+sent != perHour {
		t.Errorf("want %d writes in an hour, got %d", perHour, waiting+first+sent)
	}
}
