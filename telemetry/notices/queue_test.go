package notices

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func about1(release string, number int64) *pending {
	return &pending{ID: fmt.Sprint(release, "/", number), Notice: Notice{Namespace: "shop", Release: release}, number: number}
}

// TestOrderOfARelease: for any failures, notices of one release arrive in order, each once, and in
// spite of others that can't be delivered.
func TestOrderOfARelease(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var q queue
	for i := range int64(300) {
		if dropped := q.add(about1(fmt.Sprint("r", i%7), i)); dropped != nil {
			t.Fatalf("%s was dropped", dropped.ID)
		}
	}
	now, last, delivered := time.Unix(0, 0), map[string]int64{}, 0
	for range 100_000 {
		one, wait := q.take(now)
		switch {
		case one == nil && wait < 0:
			if delivered != 257 { // all but those of r3
				t.Errorf("want 257 delivered, got %d", delivered)
			}
			return
		case one == nil:
			now = now.Add(max(wait, time.Millisecond))
		case one.Notice.Release == "r3", random.IntN(3) == 0:
			if gaveUp := q.retry(now, time.Duration(random.IntN(3))*time.Second, random.Float64()); gaveUp && one.Notice.Release != "r3" {
				t.Fatalf("%s was given up", one.ID)
			}
		default:
			if before, is := last[one.release()]; is && before >= one.number {
				t.Fatalf("%s came after %d", one.ID, before)
			}
			last[one.release()] = one.number
			delivered++
			q.done()
		}
	}
	t.Errorf("want an end, %d are waiting", q.size())
}

// TestQueueIsBounded: the oldest is dropped, and what is being sent is not.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	var q queue
	q.add(about1("a", 0))
	sending, _ := q.take(time.Unix(0, 0))
	var dropped []int64
	for i := range int64(maxQueue + 2) {
		if one := q.add(about1("a", i+1)); one != nil {
			dropped = append(dropped, one.number)
		}
	}
	if len(dropped) != 2 || dropped[0] != 1 || dropped[1] != 2 || q.size() != maxQueue+1 || q.all()[0] != sending.pending {
		t.Errorf("want the second and third dropped, got %v of %d", dropped, q.size())
	}
}

// TestPauses: a receiver that is away is asked with growing intervals, and a notice is given up
// after an hour.
func TestPauses(t *testing.T) {
	t.Parallel()
	var q queue
	q.add(about1("a", 0))
	begin := time.Unix(0, 0)
	now, tries := begin, 0
	for {
		one, wait := q.take(now)
		if one == nil {
			now = now.Add(wait)
			continue
		}
		tries++
		if q.retry(now, 0, 0.5) {
			break
		}
	}
	if took := now.Sub(begin); took < giveUp || took > giveUp+longestPause || tries < 60 || tries > 70 {
		t.Errorf("want about one try a minute for an hour, got %d in %s", tries, took)
	}
	q.add(about1("a", 1))
	q.paused = time.Time{}
	if one, _ := q.take(now); one == nil || one.number != 1 {
		t.Errorf("want the next one sent, got %v", one)
	}
	q.retry(now, time.Hour, 0)
	if _, wait := q.take(now); wait != longestRetryAfter {
		t.Errorf("want at most %s as the receiver asks, got %s", longestRetryAfter, wait)
	}
}

// TestNamespacesTakeTurns: a namespace with many notices neither delays nor drops those of another.
func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	var q queue
	other := about1("quiet", 0)
	other.Notice.Namespace = "other"
	q.add(about1("loud", 0))
	q.take(time.Unix(0, 0))
	q.done()
	q.add(about1("loud", 1))
	q.add(other)
	for i := range int64(maxQueue) {
		q.add(about1(fmt.Sprint("loud", i), i))
	}
	for i := range int64(100) {
		if dropped := q.add(about1(fmt.Sprint("louder", i), i)); dropped != nil && dropped.Notice.Namespace != "shop" {
			t.Fatal("want nothing of another namespace dropped")
		}
	}
	if one, _ := q.take(time.Unix(0, 0)); one == nil || one.pending != other {
		t.Errorf("want the other namespace served next, got %v", one)
	}
	q.done()
	q.add(other)
	q.add(about1("loud", 2))
	if one, _ := q.take(time.Unix(0, 0)); one == nil || one.pending == other {
		t.Errorf("want them in turns, got %v", one)
	}
}
