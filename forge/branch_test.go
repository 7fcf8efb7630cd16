package forge_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/forge"
)

func TestIsBranch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"main": true, "release/1.2": true, "straße/2026,11": true, "主": true, "a-b_c+d=e#f%g!h(i)'j": true, "a@b": true, "@a": true, "a.b": true,
		"": false, "-a": false, "a..b": false, "a//b": false, "/a": false, "a/": false, ".a": false, "a/.b": false, "a.": false, "a./b": false,
		"a.lock": false, "a.lock/b": false, "@": false, "a/@": false, "a@{1}": false, "a b": false, "a\tb": false, "a\nb": false, "a\x7f": false,
		"a~1": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[b": false, "a\\b": false,
	} {
		if got := forge.IsBranch(name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
	if !forge.IsBranch(strings.Repeat("ü", 255)) {
		t.Error("a name may be long")
	}
}
