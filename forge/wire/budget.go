package wire

import (
	"net/http"
	"time"

	"github.com/sluice-dev/sluice/forge"
)

// GitHub takes 80 requests a minute that create something, and 500 an hour. It does not say how
// many are left, and who goes on after that may be banned: so they are counted here.
const (
	// burst is how many writes may follow on one another.
	burst = 80
	// keptFor is the part of what is left that is kept for what people wait for.
	keptFor = 5
)

// writes is a bucket of writes, which fills over an hour.
type writes struct {
	// perHour is the most in any hour; 0 for any number.
	perHour int
	left    float64
	at      time.Time
}

func (w *writes) burst() float64 { return float64(min(burst, (w.perHour+1)/2)) }

// rate returns how many writes an hour adds. A full bucket and the hour after it come to perHour.
func (w *writes) rate() float64 { return float64(w.perHour) - w.burst() }

// take takes one write, or returns when there is one that is not kept.
func (w *writes) take(now time.Time, kept float64) (until time.Time, taken bool) {
	if w.perHour <= 0 {
		return now, true
	}
	if w.at.IsZero() {
		w.left = w.burst()
	} else if since := now.Sub(w.at); since > 0 {
		w.left = min(w.burst(), w.left+since.Hours()*w.rate())
	}
	w.at = now
	if missing := kept*w.burst() + 1 - w.left; missing > 0 {
		return now.Add(time.Duration(missing / w.rate() * float64(time.Hour))).Add(time.Millisecond), false
	}
	w.left--
	return now, true
}

// spare refuses a request for which too little is left: any write if none is, and what can wait
// while there is little. The caller holds the lock.
func (l *Limit) spare(req *http.Request, now time.Time) error {
	waits, kept := forge.Waits(req.Context()), 0.0
	if waits {
		kept = 1.0 / keptFor
		if b := l.budget; b.Limit > 0 && b.Remaining < b.Limit/keptFor && now.Before(b.Reset) {
			return &forge.LimitedError{Until: b.Reset, Own: true}
		}
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return nil
	}
	if until, taken := l.writes.take(now, kept); !taken {
		return &forge.LimitedError{Until: until, Own: true, Every: time.Duration(float64(time.Hour) / l.writes.rate())}
	}
	return nil
}
