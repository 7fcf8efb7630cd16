package train

import "testing"

func TestShare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		members []Pods
		skew    int32
		want    int32
	}{
		"all begin with the skew":                {[]Pods{{10, 0}, {3, 0}}, 10, 10},
		"the slowest counts":                     {[]Pods{{10, 1}, {3, 1}}, 10, 20},
		"a share is rounded down":                {[]Pods{{3, 1}}, 10, 43},
		"no more than all pods":                  {[]Pods{{10, 9}}, 25, 100},
		"one without pods holds nobody":          {[]Pods{{0, 0}, {4, 2}}, 10, 60},
		"without members there is no limit":      {nil, 10, 100},
		"more pods than there are, while scaled": {[]Pods{{2, 4}}, 10, 100},
		"large numbers":                          {[]Pods{{2_000_000_000, 1_000_000_000}}, 1, 51},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Share(test.members, test.skew); got != test.want {
				t.Errorf("Share: %d, want %d", got, test.want)
			}
		})
	}
}

// TestShareLetsTheSlowestGoOn: for any number of pods, a share that is reached is followed by one
// that lets the slowest member update at least one more pod, and never more than the skew.
func TestShareLetsTheSlowestGoOn(t *testing.T) {
	t.Parallel()
	for replicas := int32(1); replicas <= 250; replicas++ {
		for _, skew := range []int32{1, 10, 99} {
			for updated := range replicas {
				share := Share([]Pods{{replicas, updated}}, skew)
				most := Most(share, replicas)
				if most <= updated || !Reached([]Pods{{replicas, most}}, share) || Reached([]Pods{{replicas, updated}}, share) {
					t.Fatalf("%d of %d, skew %d: share %d is %d pods", updated, replicas, skew, share, most)
				}
				if (most-1)*100 >= (updated*100/replicas+skew)*replicas {
					t.Fatalf("%d of %d, skew %d: share %d is %d pods, too many", updated, replicas, skew, share, most)
				}
			}
		}
	}
}
