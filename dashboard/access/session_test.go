package access

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTooManyGroupsForACookie: people in very many groups are told what to do, instead of having
// their session dropped by the browser.
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

// TestSealsAreDifferent: no two cookies of one session are alike, and none can be told from another
// by what is in it.
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

// TestOptionsThatAreRefused: Options that would let nobody in, or anybody listen, are refused.
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

// TestSealsWhatOpens: a session that could not be opened is not sealed, and the person who logs in
// is told so.
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
