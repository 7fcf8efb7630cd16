package plain

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Commit("0123456789abcdef0123456789abcdef01234567"): "0123456",
		Commit("0123"):             "0123",
		Commit("\x1b[2J]012"):      Line("\x1b[2J]01"),
		Commit(""):                 "",
		Count(0, "pod"):            "0 pods",
		Count(1, "pod"):            "1 pod",
		Count(int32(2), "release"): "2 releases",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
