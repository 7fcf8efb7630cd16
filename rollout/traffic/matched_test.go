package traffic

import "testing"

// TestMatchesGoBesideAllRequests: where the canary side gets all requests, those that match stay where they are, and nobody need serve in its place.
func TestMatchesGoBesideAllRequests(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"the stable side may be gone": {forward(100, 10).gets(100).but(matched).stable(made("v1", 0)), "share HTTPRoute web: 100% to the canary Service; awaits Routes"},
		"... and must not elsewhere":  {forward(50, 10).gets(50).but(matched).stable(made("v1", 0)), "awaits Endpoints"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.script(); got != test.want {
				t.Errorf("next\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
