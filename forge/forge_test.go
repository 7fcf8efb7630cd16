package forge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/forge"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 139)
	tests := map[string]struct{ reason, text, want string }{
		"Short":        {"what fits stays", "batch 2/4: 3/10 updated", "batch 2/4: 3/10 updated"},
		"OneLine":      {"a description is one line", " batch\n2/4:\t3/10  updated\x00 ", "batch 2/4: 3/10 updated"},
		"FourBytes":    {"GitHub refuses characters of four bytes", "done 🎉 now", "done now"},
		"Wide":         {"other characters stay", "größer, 完了…", "größer, 完了…"},
		"Exact":        {"140 characters fit", long + "b", long + "b"},
		"Word":         {"it is cut after a word", strings.Repeat("word ", 40), strings.Repeat("word ", 27) + "word…"},
		"WholeWord":    {"a word that just fits is not lost", long + " rest", long + "…"},
		"OneLongWord":  {"a word that is too long is cut all the same", strings.Repeat("b", 200), strings.Repeat("b", 139) + "…"},
		"Punctuation":  {"no comma stands before the ellipsis", strings.Repeat("c", 130) + ", and then some more", strings.Repeat("c", 130) + ", and…"},
		"CutAtComma":   {"no comma stands before the ellipsis", strings.Repeat("c", 134) + ", and then", strings.Repeat("c", 134) + ", and…"},
		"CommaAtEnd":   {"no comma stands before the ellipsis", strings.Repeat("c", 137) + ", and then", strings.Repeat("c", 137) + "…"},
		"Nothing":      {"nothing stays nothing", " \n", ""},
		"Reversed":     {"nothing turns the direction of writing", "a\u202eb\u2066c\u200bd", "a b c d"},
		"NotEvenUTF8":  {"a broken character is replaced", "a\xffb", "a\uFFFDb"},
		"CharsNoBytes": {"characters count, not bytes", strings.Repeat("ü", 140), strings.Repeat("ü", 140)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := forge.Description(tc.text); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDescriptionIsAlwaysTaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		got := forge.Description(rapid.String().Draw(t, "text"))
		if n := utf8.RuneCountInString(got); n > 140 {
			t.Fatalf("GitHub refuses more than 140 characters: got %d", n)
		}
		for _, r := range got {
			if utf8.RuneLen(r) > 3 || r < ' ' {
				t.Fatalf("GitHub refuses characters of four bytes, and a line has no control characters: got %q", r)
			}
		}
		if again := forge.Description(got); again != got {
			t.Fatalf("what fits must stay as it is: %q became %q", got, again)
		}
	})
}

func TestBlobSHA(t *testing.T) {
	t.Parallel()
	if got, want := forge.BlobSHA([]byte("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a"; got != want {
		t.Errorf("it must be what git hash-object says: got %s, want %s", got, want)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	limited := &forge.LimitedError{Until: time.Unix(0, 0)}
	tests := map[string]struct {
		err  error
		want forge.Kind
	}{
		"Wrapped": {fmt.Errorf("read: %w", &forge.Error{Kind: forge.Conflict}), forge.Conflict},
		"Limited": {fmt.Errorf("read: %w", limited), forge.Limited},
		"Foreign": {errors.New("of somebody else"), ""},
		"None":    {nil, ""},
	}
	for name, tc := range tests {
		if got := forge.KindOf(tc.err); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got, want := limited.Error(), "rate limited until 1970-01-01T00:00:00Z"; got != want {
		t.Errorf("a limit must say until when: got %q, want %q", got, want)
	}
}

func TestUnknownAccountsAreNobody(t *testing.T) {
	t.Parallel()
	nobody, ada := forge.Account{Login: "ada"}, forge.Account{ID: 7, Login: "ada"}
	if nobody.Same(nobody) || ada.Same(nobody) || nobody.Same(ada) {
		t.Error("an account that is not known must not be the same as any other")
	}
	if !ada.Same(forge.Account{ID: 7, Login: "renamed"}) {
		t.Error("the id alone must tell accounts apart: logins change")
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pull forge.PullRequest
		want bool
	}{
		"Open":   {forge.PullRequest{State: forge.PullOpen}, false},
		"Closed": {forge.PullRequest{State: forge.PullClosed}, true},
		"Merged": {forge.PullRequest{State: forge.PullClosed, Merged: true}, false},
	}
	for name, tc := range tests {
		if got := tc.pull.Rejected(); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
