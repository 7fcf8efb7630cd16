package access

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// The secrets of these tests.
const (
	firstKey  = "0123456789abcdef0123456789abcdef"
	secondKey = "fedcba9876543210fedcba9876543210"
)

// secretFile is a file that is replaced at once, as the kubelet replaces those of a mounted Secret.
type secretFile struct {
	*testing.T

	path string
}

func newSecretFile(t *testing.T, text string) secretFile {
	t.Helper()
	f := secretFile{t, filepath.Join(t.TempDir(), "secret")}
	f.write(text)
	return f
}

func (f secretFile) write(text string) {
	f.Helper()
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.Fatal(err)
	}
}

// TestKeysAreRotated: a key is rotated by a new line before the old one, without a restart:
// sessions go on, replicas that have not heard of it yet open what is sealed meanwhile, and
// sessions of a key that is gone end.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	file, clock, log := newSecretFile(t, firstKey+"\n"), testingclock.NewFakeClock(time.Now()), &lines{}
	ring, err := newKeyring(Options{KeysFile: file.path, Clock: clock, Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	fixed := func(secret string) Keys {
		keys, err := NewKeys(secret)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	// sealedBy is who opens what is sealed now.
	sealedBy := func() string {
		sealed, err := ring.now().seal("session", session{Who: identity{Name: "ada"}})
		if err != nil {
			t.Fatal(err)
		}
		var s session
		switch {
		case fixed(firstKey).open("session", sealed, &s):
			return "first"
		case fixed(secondKey).open("session", sealed, &s):
			return "second"
		default:
			return "none"
		}
	}
	opens := func(secret string) bool {
		sealed, err := fixed(secret).seal("session", session{})
		if err != nil {
			t.Fatal(err)
		}
		return ring.now().open("session", sealed, &session{})
	}
	wants := func(when, by string, first, second bool) {
		t.Helper()
		if got := sealedBy(); got != by || opens(firstKey) != first || opens(secondKey) != second {
			t.Errorf("%s: sealed by %s, the first opens: %t, the second opens: %t; want %s, %t, %t", when, got, opens(firstKey), opens(secondKey), by, first, second)
		}
	}
	wants("at the beginning", "first", true, false)
	file.write(secondKey + "\n" + firstKey + "\n")
	wants("before it is read again", "first", true, false)
	clock.Step(readAgain)
	wants("while other replicas may have the old file", "first", true, true)
	clock.Step(keySpread)
	wants("once all have the new one", "second", true, true)
	for _, text := range []string{"", " \n", "short", firstKey + "\nshort"} {
		file.write(text)
		clock.Step(readAgain)
		wants("with a file that is not right", "second", true, true)
		clock.Step(readAgain)
		wants("and again", "second", true, true)
		if _, err := newKeyring(Options{KeysFile: file.path, Clock: clock, Logger: log.logger()}); err == nil || !strings.Contains(err.Error(), "openssl rand") ||
			text == "short" && strings.Contains(err.Error(), text) {
			t.Errorf("begin with %q: %v", text, err)
		}
	}
	if said := strings.Count(log.String(), "stay in use"); said != 3 { // two of the files are equally empty
		t.Errorf("want each mistake in the log once, got %d:\n%s", said, log)
	}
	if err := os.Remove(file.path); err != nil {
		t.Fatal(err)
	}
	clock.Step(readAgain)
	wants("without a file", "second", true, true)
	file.write(secondKey)
	clock.Step(readAgain)
	wants("once the old key is taken out", "second", false, true)
	file.write(firstKey)
	clock.Step(readAgain)
	wants("with another key alone", "first", true, false)
	if strings.Contains(log.String(), firstKey) || strings.Contains(log.String(), secondKey) {
		t.Error("the log has a key in it")
	}
}

// TestSecretsOfARunningDashboard: a running dashboard goes by the files of its secrets: people stay
// logged in while a key is rotated, and are logged out once it is taken out; the login service's
// new secret counts for the next login.
func TestSecretsOfARunningDashboard(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	keys, secret := newSecretFile(t, firstKey), newSecretFile(t, clientSecret+"\n")
	options := oidcOptions(p)
	options.KeysFile, options.OIDC.ClientSecret, options.OIDC.ClientSecretFile = keys.path, "", secret.path
	w := newWorld(t, options)
	ada := w.browser()
	ada.through("/login/start")
	ada.get("/").sees(t)
	keys.write(secondKey + "\n" + firstKey)
	w.clock.Step(readAgain)
	ada.get("/").sees(t)
	keys.write(secondKey)
	w.clock.Step(readAgain)
	if got := ada.get("/"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("with a session of a key that is gone: got %s", got.Status)
	}

	p.takes("another secret")
	if got := ada.through("/login/start"); got.StatusCode == http.StatusSeeOther {
		t.Error("the login service took a secret that it does not know any more")
	}
	secret.write("another secret\n")
	ada.through("/login/start")
	ada.get("/").sees(t)
	secret.write("")
	ada = w.browser()
	ada.through("/login/start")
	ada.get("/").sees(t)
	if text := w.log.String(); !strings.Contains(text, "the client secret of before stays in use") || strings.Contains(text, "another secret") {
		t.Errorf("want the log to say why, without the secret:\n%s", text)
	}
}

// TestGroupsThatWereTakenAway: a person removed from a group at the login service keeps it until
// the session ends, at the latest at the time that the login service named, and then logs in
// again. A person who was removed altogether has no session any more.
func TestGroupsThatWereTakenAway(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	options := oidcOptions(p)
	options.Lifetime = 10 * time.Minute // shorter than the login service says
	w := newWorld(t, options)
	p.says(map[string]any{"groups": []string{"dev", "ops"}})
	ada := w.browser()
	ada.through("/login/start")
	p.says(map[string]any{"groups": []string{"dev"}})
	w.clock.Step(9 * time.Minute)
	if page := ada.get("/").sees(t); !slices.Equal(page.Groups, []string{"oidc:dev", "oidc:ops"}) {
		t.Errorf("during the session: %v", page.Groups)
	}
	w.clock.Step(time.Minute)
	came := ada.get("/history")
	if to := "/login/start?next=" + url.QueryEscape("/history"); came.StatusCode != http.StatusSeeOther || came.Header.Get("Location") != to {
		t.Fatalf("after the session: %s to %q", came.Status, came.Header.Get("Location"))
	}
	ada.through(came.Header.Get("Location"))
	if page := ada.get("/").sees(t); !slices.Equal(page.Groups, []string{"oidc:dev"}) {
		t.Errorf("after the next login: %v", page.Groups)
	}
	w.clock.Step(10 * time.Minute)
	p.setDown(true)
	ada.through("/login/start")
	if got := ada.get("/"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("without the login service: %s", got.Status)
	}
}
