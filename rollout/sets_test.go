package rollout

import (
	"strings"
	"testing"
)

// The native controller looks for the ReplicaSet of a hash by its template, and makes it with this name.
func TestSetNameIsTheNativeOne(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ deployment, hash, want string }{
		"short":           {"web", "5d4f8c7b9d", "web-5d4f8c7b9d"},
		"as long as fits": {strings.Repeat("a", 242), "5d4f8c7b9d", strings.Repeat("a", 242) + "-5d4f8c7b9d"},
		"too long":        {strings.Repeat("a", 243), "5d4f8c7b9d", strings.Repeat("a", 242) + "-5d4f8c7b9d"},
		"the longest":     {strings.Repeat("a", 253), "5d4f8c7b9", strings.Repeat("a", 243) + "-5d4f8c7b9"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := setName(test.deployment, test.hash); got != test.want {
				t.Errorf("setName = %q, want %q", got, test.want)
			}
		})
	}
}
