package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A key is rotated by a new line before the old one: sessions go on, and those of a key that is gone end.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	read := func(text string) Keys {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := ReadKeys(path)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	const before, after = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	old, both, young := read(before+"\n"), read(after+"\n"+before+"\n"), read(after)
	sealed, err := old.seal("session", session{Who: identity{Name: "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	var s session
	if !both.open("session", sealed, &s) || s.Who.Name != "ada" {
		t.Errorf("with the old key as the second: %+v", s)
	}
	if young.open("session", sealed, &s) {
		t.Error("without the old key")
	}
	if sealed, err = both.seal("session", s); err != nil || !young.open("session", sealed, &s) {
		t.Errorf("the first key does not seal: %v", err)
	}
	for _, text := range []string{"", " \n", "short", before + "\nshort"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(path); err == nil || !strings.Contains(err.Error(), "openssl rand") || text == "short" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// People in very many groups are told what to do, instead of having their session dropped by the browser.
func TestTooManyGroupsForACookie(t *testing.T) {
	t.Parallel()
	keys, err := RandomKeys()
	if err != nil {
		t.Fatal(err)
	}
	who := identity{Name: "ada"}
	for i := range 60 {
		who.Groups = append(who.Groups, fmt.Sprintf("example.com:platform-team-%d", i))
	}
	if sealed, err := keys.seal("session", newSession(who, time.Now())); err != nil || len(sealed) > maxCookie {
		t.Errorf("sixty groups: %d bytes, %v", len(sealed), err)
	}
	for range 200 {
		who.Groups = append(who.Groups, randomText(24))
	}
	if _, err := keys.seal("session", newSession(who, time.Now())); !errors.Is(err, errTooLarge) {
		t.Errorf("two hundred more: %v", err)
	}
}

// No two cookies of one session are alike, and none can be told from another by what is in it.
func TestSealsAreDifferent(t *testing.T) {
	t.Parallel()
	keys, err := RandomKeys()
	if err != nil {
		t.Fatal(err)
	}
	s, made := newSession(identity{Name: "ada"}, time.Now()), map[string]bool{}
	for range 100 {
		sealed, err := keys.seal("session", s)
		if err != nil {
			t.Fatal(err)
		}
		made[sealed] = true
	}
	if len(made) != 100 {
		t.Errorf("%d of 100 are different", len(made))
	}
}

// Options that would let nobody in, or anybody listen, are refused.
func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	service := &OIDC{Issuer: "https://login.example.com", ClientID: "sluice"}
	for name, tc := range map[string]struct {
		options Options
		says    string
	}{
		"Nobody":   {Options{}, "nobody could log in"},
		"Where":    {Options{OIDC: service}, "--external-url"},
		"Plain":    {Options{OIDC: service, ExternalURL: "http://sluice.example.com"}, "want https"},
		"Loopback": {Options{OIDC: service, ExternalURL: "http://127.0.0.1:80"}, "want https"},
		"Path":     {Options{Tokens: true, ExternalURL: "https://sluice.example.com/x"}, "without a path"},
		"User":     {Options{Tokens: true, ExternalURL: "https://a:b@sluice.example.com"}, "without a path"},
		"Long":     {Options{Tokens: true, Lifetime: 1000 * time.Hour}, "seven days"},
	} {
		if _, err := tc.options.completed(); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]OIDC{
		"http": {Issuer: "http://login.example.com", ClientID: "x"}, "http on loopback": {Issuer: "http://127.0.0.1", ClientID: "x"},
		"no host": {Issuer: "https:///x", ClientID: "x"}, "no client": {Issuer: "https://login.example.com"},
		"certificates": {Issuer: "https://login.example.com", ClientID: "x", CABundle: []byte("none")},
	} {
		options, err := Options{OIDC: &o, ExternalURL: "https://sluice.example.com"}.completed()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newService(o, options); err == nil {
			t.Errorf("a login service with %s is taken", name)
		}
	}
}

// What would not be unpacked is not sealed: whoever logs in with it is told so.
func TestSealsWhatOpens(t *testing.T) {
	t.Parallel()
	keys, err := RandomKeys()
	if err != nil {
		t.Fatal(err)
	}
	const quotes = 2
	for length, want := range map[int]error{maxSession - quotes: nil, maxSession - quotes + 1: errTooLarge, 10 * maxSession: errTooLarge} {
		text, opened := strings.Repeat("g", length), ""
		sealed, err := keys.seal("session", text)
		if !errors.Is(err, want) {
			t.Errorf("sealing %d bytes: %v, want %v", length, err, want)
		}
		if err == nil && (!keys.open("session", sealed, &opened) || opened != text) {
			t.Errorf("%d bytes are sealed and not opened", length)
		}
	}
}
