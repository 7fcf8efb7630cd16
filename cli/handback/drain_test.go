package handback

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Pods stay for as long as the controller has them stay: for readySeconds where that is longer than drainSeconds.
func TestDrainIsAsLongAsTheControllers(t *testing.T) {
	t.Parallel()
	of := func(traffic *v1alpha1.Traffic) *v1alpha1.BatchRelease {
		release := &v1alpha1.BatchRelease{}
		release.Spec.Strategy.Traffic = traffic
		return release
	}
	for name, test := range map[string]struct {
		release *v1alpha1.BatchRelease
		want    time.Duration
	}{
		"a release that is gone":    {nil, 10 * time.Second},
		"no traffic any more":       {of(nil), 10 * time.Second},
		"the defaults":              {of(&v1alpha1.Traffic{}), 10 * time.Second},
		"drainSeconds":              {of(&v1alpha1.Traffic{DrainSeconds: new(int32(40))}), 40 * time.Second},
		"readySeconds are longer":   {of(&v1alpha1.Traffic{ReadySeconds: new(int32(60)), DrainSeconds: new(int32(40))}), time.Minute},
		"longer than the default":   {of(&v1alpha1.Traffic{ReadySeconds: new(int32(60))}), time.Minute},
		"the default is longer":     {of(&v1alpha1.Traffic{DrainSeconds: new(int32(0))}), 2 * time.Second},
		"nobody waits for anything": {of(&v1alpha1.Traffic{ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0))}), 0},
	} {
		if got := drainOf(test.release); got != test.want {
			t.Errorf("%s: want %s, got %s", name, test.want, got)
		}
	}
}
