package wire

import (
	"strings"
	"testing"
)

// TestLongMessages: a long message is searched in part, and the cut leaves no part of a credential.
func TestLongMessages(t *testing.T) {
	for name, message := range map[string]string{
		"a token at the cut":  strings.Repeat(" ", maxRead-20) + "ghp_0123456789abcdefghijklmnopqrstuvwxyz" + strings.Repeat(" x", maxRead),
		"a secret at the cut": strings.Repeat(" ", maxRead-4) + "s3cret-of-ours" + strings.Repeat("x", 8<<20),
		"no space":            strings.Repeat("eyJ", 3<<20),
		"quotes":              `"` + strings.Repeat(" ", maxRead-8) + `"s3cret-of-ours"` + strings.Repeat("x", maxRead),
	} {
		t.Run(name, func(t *testing.T) {
			got := Scrubber{Secret: "s3cret-of-ours"}.Clean(message)
			for _, part := range []string{"ghp_", "s3c", "eyJ"} {
				if strings.Contains(got, part) {
					t.Errorf("%q has %q in it", got, part)
				}
			}
		})
	}
	if got, want := (Scrubber{}).Clean("refused: "+strings.Repeat("because ", 1<<20)), "refused: because"; !strings.HasPrefix(got, want) || len(got) > maxMessage+10 {
		t.Errorf("got %q, want its beginning", got)
	}
}
