package devforge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packet returns a line as git sends it.
func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func TestPushCommands(t *testing.T) {
	t.Parallel()
	old, next := strings.Repeat("a", 40), strings.Repeat("b", 40)
	one := packet(old + " " + next + " refs/heads/main\x00 report-status side-band-64k")
	tests := map[string]struct {
		reason, sent string
		want         []string
	}{
		"One":     {"a ref and what the client can do", one + "0000PACK", []string{"refs/heads/main"}},
		"Many":    {"later ones have no zero byte", one + packet(old+" "+next+" refs/tags/v1") + "0000", []string{"refs/heads/main", "refs/tags/v1"}},
		"Shallow": {"other packets come first", packet("shallow "+old) + one + "0000", []string{"refs/heads/main"}},
		"Probe":   {"git asks first whether it may push", "0000", nil},
		"Pack":    {"the pack is not read", "0000" + one, nil},
		"Cut":     {"a packet that has not come whole", one[:30], nil},
		"Garbage": {"what is no packet", "zzzz" + one, nil},
	}
	for name, tc := range tests {
		for _, size := range []int{1, 7, 4096} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				t.Parallel()
				var commands pushCommands
				for rest := tc.sent; rest != ""; {
					part := rest[:min(size, len(rest))]
					rest = rest[len(part):]
					if n, err := commands.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatalf("write: %d, %v", n, err)
					}
				}
				if diff := cmp.Diff(tc.want, commands.named()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}
