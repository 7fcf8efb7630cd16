package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the Secret of a source's webhook.
const (
	keySecret = "secret"
	keyNext   = "secret.next"
)

const (
	// secretAge is how long a secret that was taken away may still be good.
	secretAge = 30 * time.Second
	// rereadAfter is how long after a Secret was read a wrong signature makes it be read again.
	rereadAfter = 2 * time.Second
	// forgetAfter is how long a secret is kept that nobody signs with.
	forgetAfter = 10 * time.Minute
)

// secrets holds the webhook secrets, as last read.
type secrets struct {
	live  client.Reader
	clock clock.PassiveClock
	// decoy is a random key that nothing is signed with, to verify signatures without a secret.
	decoy []byte

	mu    sync.Mutex
	known map[client.ObjectKey]*secret
}

// secret is a Secret as it was last read.
type secret struct {
	mu sync.Mutex
	// read is when it was last read, or tried to, and err how the last try went wrong.
	read   time.Time
	values [][]byte
	err    error
}

func newSecrets(live client.Reader, now clock.PassiveClock) *secrets {
	return &secrets{live: live, clock: now, decoy: []byte(rand.Text()), known: map[client.ObjectKey]*secret{}}
}

// forget reads a body that there is no secret for, and keeps none of it. It takes as long as with a
// secret.
func (s *secrets) forget(body io.Reader) error {
	const piece = 1 << 10 // anybody can have many such bodies read at once
	_, err := io.CopyBuffer(hmac.New(sha256.New, s.decoy), body, make([]byte, piece))
	return err
}

// signed reports whether a webhook is signed with a secret of the Secret with that name. The Secret
// may have changed just now, so it is read again before a signature is wrong.
func (s *secrets) signed(ctx context.Context, key client.ObjectKey, d delivery) (bool, error) {
	known := s.of(key)
	values, read, err := s.get(ctx, key, known, secretAge)
	if err != nil || s.matches(d, values) {
		return err == nil, err
	}
	values, again, err := s.get(ctx, key, known, rereadAfter)
	if err != nil || again.Equal(read) {
		return false, err
	}
	return s.matches(d, values), nil
}

// matches checks a proof. Without a secret it takes as long as with one.
func (s *secrets) matches(d delivery, values [][]byte) bool {
	if len(values) == 0 {
		d.Proven(d.body, s.clock.Now(), s.decoy)
		return false
	}
	return d.Proven(d.body, s.clock.Now(), values...)
}

// of finds what is known of a Secret, and forgets those that went out of use.
func (s *secrets) of(key client.ObjectKey) *secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == nil {
		s.known[key] = &secret{}
		maps.DeleteFunc(s.known, func(other client.ObjectKey, old *secret) bool {
			return other != key && old.unused(s.clock.Now())
		})
	}
	return s.known[key]
}

// unused reports whether nobody has signed with a secret for long. One that is being read is in
// use, and is not waited for.
func (known *secret) unused(now time.Time) bool {
	if !known.mu.TryLock() {
		return false
	}
	defer known.mu.Unlock()
	return now.Sub(known.read) > forgetAfter
}

// get returns the values of a Secret, and when they were read: not longer ago than age, but if that
// failed a while ago. One caller at a time reads it.
func (s *secrets) get(ctx context.Context, key client.ObjectKey, known *secret, age time.Duration) ([][]byte, time.Time, error) {
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.err != nil {
		age = min(age, rereadAfter)
	}
	now := s.clock.Now()
	if known.read.IsZero() || now.Sub(known.read) >= age {
		known.read = now
		s.load(ctx, key, known)
	}
	if len(known.values) == 0 {
		return nil, known.read, known.err
	}
	return known.values, known.read, nil
}

// load reads a Secret. The last known one stays valid while the API server does not answer.
func (s *secrets) load(ctx context.Context, key client.ObjectKey, known *secret) {
	var object corev1.Secret
	err := s.live.Get(ctx, key, &object)
	if client.IgnoreNotFound(err) != nil {
		known.err = fmt.Errorf("read Secret %s: %w", key, err)
		return
	}
	known.values, known.err = nil, nil
	for _, name := range []string{keySecret, keyNext} {
		// Files that Secrets are made from end with a line break.
		if value := bytes.TrimRight(object.Data[name], "\r\n"); len(value) > 0 {
			known.values = append(known.values, value)
		}
	}
}
