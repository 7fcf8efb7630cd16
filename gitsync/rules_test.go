package gitsync

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestNextLook(t *testing.T) {
	t.Parallel()
	failed, good := outcome(unread{err: errors.New("no route to host")}), outcome(followed{})
	tests := []struct {
		name     string
		interval time.Duration
		results  []outcome
		want     time.Duration
	}{
		{"good", time.Minute, []outcome{good}, time.Minute},
		{"first failure", time.Minute, []outcome{failed}, 2 * time.Minute},
		{"second failure", time.Minute, []outcome{failed, failed}, 4 * time.Minute},
		{"never more than five minutes", time.Minute, []outcome{failed, failed, failed, failed}, 5 * time.Minute},
		{"unless the interval is longer", time.Hour, []outcome{failed, failed}, time.Hour},
		{"many failures", time.Second, make([]outcome, 0), time.Second},
		{"good again", time.Minute, []outcome{failed, failed, good}, time.Minute},
		{"suspended", time.Minute, []outcome{failed, suspended{}}, 0},
	}
	for _, tt := range tests {
		m := &memory{}
		var got time.Duration
		if len(tt.results) == 0 {
			for range 100 {
				got = m.next(tt.interval, failed)
			}
			tt.want = longestWait
		}
		for _, result := range tt.results {
			got = m.next(tt.interval, result)
		}
		if got < tt.want || got > tt.want+tt.want/10+1 {
			t.Errorf("%s: got %s, want %s and up to a tenth more", tt.name, got, tt.want)
		}
	}
}

func TestLabelFor(t *testing.T) {
	t.Parallel()
	source := func(namespace, name string) *v1alpha1.ReleaseSource {
		return &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	long := strings.Repeat("n", 63)
	seen := map[string]string{}
	for _, s := range []*v1alpha1.ReleaseSource{
		source("shop", "web"), source("shop", "a.b"), source("a", "b"), source("b", "a.b"), source(long, long), source(long, "x"+long[1:]), source(long[1:], long),
	} {
		label := s.LabelIn("shop")
		who := s.Namespace + "/" + s.Name
		if len(label) > 63 {
			t.Errorf("the label of %s has %d characters", who, len(label))
		}
		if other := seen[label]; other != "" {
			t.Errorf("%s and %s have the same label %s", who, other, label)
		}
		seen[label] = who
	}
}
