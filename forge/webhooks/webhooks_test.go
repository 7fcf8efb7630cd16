package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/webhooks"
)

const (
	plain = "It's a Secret to Everybody"
	body  = `{"test": 2432232314}`
	// The example of the Standard Webhooks, with its key.
	signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	id      = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	sent    = "1614265330"
	signed  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var now = time.Unix(1614265330, 0)

func headers(pairs ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return header
}

func hub(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func github(more ...string) http.Header {
	return headers(append([]string{"X-GitHub-Event", "push", "X-GitHub-Delivery", "one"}, more...)...)
}

func gitlab(more ...string) http.Header {
	return headers(append([]string{"X-Gitlab-Event", "Push Hook", "Idempotency-Key", "one"}, more...)...)
}

func standard(change ...string) http.Header {
	return gitlab(append([]string{"Webhook-Id", id, "Webhook-Timestamp", sent, "Webhook-Signature", signed}, change...)...)
}

func TestProof(t *testing.T) {
	t.Parallel()
	keyless := hmac.New(sha256.New, nil)
	keyless.Write([]byte(id + "." + sent + "." + body))
	unkeyed := "v1," + base64.StdEncoding.EncodeToString(keyless.Sum(nil))
	tests := map[string]struct {
		header  http.Header
		secrets []string
		at      time.Time
		want    bool
		reason  string
	}{
		"GitHub":             {header: github("X-Hub-Signature-256", hub(plain)), secrets: []string{plain}, want: true, reason: "the signature is right"},
		"GitHubNext":         {header: github("X-Hub-Signature-256", hub(plain)), secrets: []string{"old", plain}, want: true, reason: "either of two secrets is"},
		"GitHubOther":        {header: github("X-Hub-Signature-256", hub("other")), secrets: []string{plain}, reason: "another secret"},
		"GitHubNone":         {header: github("X-Hub-Signature-256", hub("")), secrets: []string{""}, reason: "an empty secret signs nothing"},
		"Token":              {header: gitlab("X-Gitlab-Token", plain), secrets: []string{"old", plain}, want: true, reason: "the token is the secret"},
		"TokenOther":         {header: gitlab("X-Gitlab-Token", plain+"x"), secrets: []string{plain}, reason: "another token"},
		"TokenPrefix":        {header: gitlab("X-Gitlab-Token", plain[:4]), secrets: []string{plain}, reason: "a part of it"},
		"TokenIsSigningKey":  {header: gitlab("X-Gitlab-Token", signing), secrets: []string{signing}, reason: "a key for signatures is no token"},
		"TokenOfNoSecret":    {header: gitlab("X-Gitlab-Token", plain), reason: "no secret proves nothing"},
		"Standard":           {header: standard(), secrets: []string{signing}, want: true, reason: "the example of the specification"},
		"StandardOfTwo":      {header: standard("Webhook-Signature", "v1,AAAA v2,BBBB "+signed), secrets: []string{"old", signing}, want: true, reason: "one of its signatures"},
		"StandardAtTheEdge":  {header: standard(), secrets: []string{signing}, at: now.Add(5 * time.Minute), want: true, reason: "it came slowly"},
		"StandardLate":       {header: standard(), secrets: []string{signing}, at: now.Add(5*time.Minute + time.Second), reason: "it was kept"},
		"StandardEarly":      {header: standard(), secrets: []string{signing}, at: now.Add(-5*time.Minute - time.Second), reason: "its time is to come"},
		"StandardOtherTime":  {header: standard("Webhook-Timestamp", "1614265331"), secrets: []string{signing}, reason: "the time is signed"},
		"StandardOtherID":    {header: standard("Webhook-Id", "msg_other"), secrets: []string{signing}, reason: "the number is signed"},
		"StandardAndToken":   {header: standard("X-Gitlab-Token", plain, "Webhook-Signature", "v1,AAAA"), secrets: []string{plain, signing}, reason: "what has a signature is judged by it alone"},
		"StandardPlain":      {header: standard(), secrets: []string{strings.TrimPrefix(signing, "whsec_")}, reason: "a key says that it is one"},
		"StandardEmptyKey":   {header: standard("Webhook-Signature", unkeyed), secrets: []string{"whsec_"}, reason: "an empty key signs nothing"},
		"StandardBrokenKey":  {header: standard("Webhook-Signature", unkeyed), secrets: []string{"whsec_!!"}, reason: "what is no base64 is no key"},
		"StandardFifth":      {header: standard("Webhook-Signature", strings.Repeat("v1,AAAA ", 4)+signed), secrets: []string{signing}, reason: "nobody has that many keys"},
		"HubWithGitLabEvent": {header: gitlab("X-Hub-Signature-256", hub(plain)), secrets: []string{plain}, reason: "GitLab makes no such signature"},
		"TokenWithHubEvent":  {header: github("X-Gitlab-Token", plain), secrets: []string{plain}, reason: "GitHub sends no token"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := tc.at
			if at.IsZero() {
				at = now
			}
			var secrets [][]byte
			for _, secret := range tc.secrets {
				secrets = append(secrets, []byte(secret))
			}
			d, can := webhooks.Of(tc.header)
			if got := can && d.Proven([]byte(body), at, secrets...); got != tc.want {
				t.Errorf("want %t: %s", tc.want, tc.reason)
			}
		})
	}
}

func TestNothingThatCanBeAProof(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"None": github(), "NoneOfGitLab": gitlab(), "Short": github("X-Hub-Signature-256", "sha256=00"), "SHA1": github("X-Hub-Signature", "sha1=00"),
		"NoTime": standard("Webhook-Timestamp", "now"), "NoID": standard("Webhook-Id", ""), "NoVersion": standard("Webhook-Signature", "g0hM"),
	} {
		if _, can := webhooks.Of(header); can {
			t.Errorf("%s: want it refused by its headers", name)
		}
	}
}

func TestWhoseWebhooks(t *testing.T) {
	t.Parallel()
	ours, _ := webhooks.Of(github("X-Hub-Signature-256", hub(plain)))
	theirs, _ := webhooks.Of(gitlab("X-Gitlab-Token", plain))
	for of, want := range map[forge.Type][2]bool{
		forge.TypeGitHub: {true, false}, forge.TypeGitea: {true, false}, forge.TypeGitLab: {false, true}, "": {true, true}, "Other": {false, false},
	} {
		if got := [2]bool{ours.From(of), theirs.From(of)}; got != want {
			t.Errorf("%q: got %v, want %v", of, got, want)
		}
	}
}

// TestMarks: a copy has a mark of the first, whatever its sender changes.
func TestMarks(t *testing.T) {
	t.Parallel()
	for name, copies := range map[string][2]http.Header{
		"GitHub":   {github("X-Hub-Signature-256", hub(plain)), github("X-GitHub-Delivery", "two", "X-Hub-Signature-256", "sha256="+strings.ToUpper(hub(plain)[7:]))},
		"Token":    {gitlab("X-Gitlab-Token", plain), gitlab("Idempotency-Key", "two", "X-Gitlab-Token", plain)},
		"Standard": {standard(), standard("Idempotency-Key", "two", "Webhook-Signature", "v1,AAAA "+signed)},
	} {
		first, _ := webhooks.Of(copies[0])
		second, _ := webhooks.Of(copies[1])
		have := first.Marks([]byte(body))
		if !slices.ContainsFunc(second.Marks([]byte(body)), func(mark string) bool { return slices.Contains(have, mark) }) {
			t.Errorf("%s: %q and %q have nothing in common", name, have, second.Marks([]byte(body)))
		}
		if name != "Standard" && name != "GitHub" {
			if other := first.Marks([]byte("{}")); other[0] == have[0] {
				t.Errorf("%s: want another mark for another body", name)
			}
		}
	}
}

func TestEventsOfGitLab(t *testing.T) {
	t.Parallel()
	const project = `"project":{"id":7,"path_with_namespace":"shop/apps/web"}`
	merge := func(action string) string {
		return `{"object_attributes":{"iid":4,"action":"` + action + `","source_branch":"sluice/web","target_branch":"main","last_commit":{"id":"c0ffee"}},` + project + `}`
	}
	pull := forge.Event{Number: 4, Branch: "main", Head: "sluice/web", SHA: "c0ffee"}
	of := func(e forge.Event, kind forge.EventKind, action string, merged bool) forge.Event {
		e.Kind, e.Action, e.Merged, e.Repository = kind, action, merged, forge.Repository{ID: 7, FullName: "shop/apps/web"}
		return e
	}
	tests := map[string]struct {
		event, body string
		want        forge.Event
	}{
		"Push":     {"Push Hook", `{"ref":"refs/heads/main","after":"c0ffee",` + project + `}`, of(forge.Event{Branch: "main", SHA: "c0ffee"}, forge.EventPush, "", false)},
		"Deletion": {"Push Hook", `{"ref":"refs/heads/main","after":"0000",` + project + `}`, of(forge.Event{Branch: "main", SHA: "0000", Deleted: true}, forge.EventPush, "", false)},
		"Tag":      {"Tag Push Hook", `{`, forge.Event{Kind: forge.EventOther}},
		"Merged":   {"Merge Request Hook", merge("merge"), of(pull, forge.EventPullRequest, "closed", true)},
		"Closed":   {"Merge Request Hook", merge("close"), of(pull, forge.EventPullRequest, "closed", false)},
		"Reopened": {"Merge Request Hook", merge("reopen"), of(pull, forge.EventPullRequest, "reopened", false)},
		"Approved": {"Merge Request Hook", merge("approved"), of(pull, forge.EventReview, "approved", false)},
		"Revoked":  {"Merge Request Hook", merge("unapproval"), of(pull, forge.EventReview, "unapproval", false)},
		"Updated":  {"Merge Request Hook", merge("update"), of(pull, forge.EventPullRequest, "update", false)},
		"Pipeline": {"Pipeline Hook", `{"object_attributes":{"sha":"c0ffee"},` + project + `}`, of(forge.Event{SHA: "c0ffee"}, forge.EventStatus, "", false)},
		"Job":      {"Job Hook", `{"sha":"c0ffee","build_name":"smoke",` + project + `}`, of(forge.Event{SHA: "c0ffee", Name: "smoke"}, forge.EventStatus, "", false)},
	}
	for name, tc := range tests {
		d, _ := webhooks.Of(headers("X-Gitlab-Event", tc.event, "X-Gitlab-Token", plain))
		got, err := d.Parse([]byte(tc.body))
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
		if d.Kind() != webhooks.KindOf(headers("X-Gitlab-Event", tc.event)) {
			t.Errorf("%s: the kind depends on who asks", name)
		}
	}
	for _, body := range []string{"", "[", `{"project":{}}`, `{"project":[]}`} {
		d, _ := webhooks.Of(headers("X-Gitlab-Event", "Push Hook", "X-Gitlab-Token", plain))
		if _, err := d.Parse([]byte(body)); err == nil {
			t.Errorf("want an error for %q", body)
		}
	}
}
