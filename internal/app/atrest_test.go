package app

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFreeAtRest: memory is freed once after each busy time, however long the rest. Watches that
// are renewed meanwhile don't count.
func TestFreeAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		client := http.Client{Transport: freeAtRest(quiet, func() { freed.Add(1) })(answering{})}
		send := func(path string) {
			t.Helper()
			answer, err := client.Get("http://127.0.0.1" + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		want := func(when string, n int32) {
			t.Helper()
			synctest.Wait()
			if freed := freed.Load(); freed != n {
				t.Errorf("%s: freed %d times, want %d", when, freed, n)
			}
		}

		for range 5 {
			send("/apis/apps/v1/deployments?limit=500")
			<-time.After(quiet - time.Second)
		}
		want("busy", 0)
		<-time.After(time.Second)
		want("at rest", 1)
		for range 20 {
			send("/apis/apps/v1/deployments?watch=true")
			<-time.After(quiet)
		}
		want("after hours of rest", 1)
		send("/apis/apps/v1/deployments")
		<-time.After(quiet)
		want("at rest again", 2)
	})
}

// answering answers each request.
type answering struct{}

// RoundTrip implements http.RoundTripper.
func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return httptest.NewRecorder().Result(), nil
}
