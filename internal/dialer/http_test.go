package dialer_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

func TestBundleWithoutCertificate(t *testing.T) {
	t.Parallel()
	_, err := dialer.NewHTTP(&http.Transport{}, []byte("none"), time.Minute, dialer.Rules{}, refused)
	if err == nil || !strings.Contains(err.Error(), "no PEM certificate") {
		t.Errorf("error is %v, want that there is no certificate", err)
	}
}

func TestSameServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://forge.test/a", "https://FORGE.test/b?c", true},
		{"https://forge.test", "https://forge.test:443", true},
		{"http://forge.test", "http://forge.test:80", true},
		{"https://forge.test", "https://forge.test:8443", false},
		{"https://forge.test", "http://forge.test", false},
		{"https://forge.test", "https://forge.test.evil.test", false},
		{"https://[::1]:1", "https://[::1]:1/x", true},
	} {
		a, errA := url.Parse(test.a)
		b, errB := url.Parse(test.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := dialer.SameServer(a, b); got != test.want {
			t.Errorf("SameServer(%s, %s) is %t, want %t", test.a, test.b, got, test.want)
		}
	}
}
