package notices

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// hostile returns a fact in which every text of strangers is an attack.
func hostile(kind story.Kind) story.Fact {
	const attack = "<!channel> <@U1> <https://evil.example|log in> @here & https://evil.example `x` \n*Release completed*\u202e\x1b[2J"
	f := story.Fact{
		Kind: kind, Release: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "uid", Attempt: 3,
		Workload: v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}, Revision: attack, From: attack, Commit: attack, Author: attack,
		Subject: strings.Repeat(attack, 1000), Message: strings.Repeat(attack, 1000), StoppedBy: attack, StalledBy: attack, Trigger: attack,
		Batch: 1, Batches: 2, Time: time.Unix(1_800_000_000, 0),
	}
	if strings.HasPrefix(string(kind), "Gate") {
		f.Gate = &story.Gate{Name: attack, UID: "gate", Type: attack, By: attack, URL: "https://evil.example/>|<!channel>" + attack}
	}
	return f
}

// TestHostileSlack: nothing that strangers write mentions, links or begins a line in Slack, and it
// stays short.
func TestHostileSlack(t *testing.T) {
	t.Parallel()
	everything := "{{.Kind}} {{.Summary}} {{.Cluster}} {{.Namespace}} {{.Release}} {{.Workload}} {{.Revision}} {{.From}} {{.Commit}} {{.Author}} {{.Subject}} " +
		"{{.Trigger}} {{.StoppedBy}} {{.StalledBy}} {{.Message}} {{.Command}} {{with .Gate}}{{.Name}} {{.Type}} {{.By}} {{.URL}}{{end}}"
	for _, template := range []string{usualTemplate, everything} {
		filled, err := newWords(template, Kinds())
		if err != nil {
			t.Fatalf("read template: %v", err)
		}
		for _, kind := range Kinds() {
			fact := hostile(kind)
			n := noticeOf(&fact, nil, "<!here>")
			body, _, err := slackRequest(&n, filled)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			var got message
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%s: decode: %v", kind, err)
			}
			shown := got.Blocks[0].Text
			for _, text := range []string{got.Text, shown.Text} {
				if strings.ContainsAny(text, "<>") && !strings.HasPrefix(text, "&gt;") && strings.Contains(strings.ReplaceAll(text, "\n>", ""), "<") {
					t.Errorf("%s: want no command of Slack in %q", kind, text)
				}
				if strings.Contains(text, "\n*Release") || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
					t.Errorf("%s: want strangers' texts on one line each, got %q", kind, text)
				}
			}
			if !shown.Verbatim || got.Parse != "none" || got.LinkNames || got.UnfurlLinks || len(shown.Text) > 3000 || len(got.Text) > 2000 {
				t.Errorf("%s: want no links made, and at most 3000 bytes, got %+v", kind, got)
			}
		}
	}
}

// TestHostileEvent: so it is in events, where texts are bounded and printable, and the type says
// what happened.
func TestHostileEvent(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		fact := hostile(kind)
		n := noticeOf(&fact, nil, "a/../b c")
		body, header, err := eventRequest(idOf(&fact, 0), &n, nil, time.Now())
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var got event
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: decode: %v", kind, err)
		}
		if got.Type == "" || got.Source != "/clusters/a%2F..%2Fb%20c/namespaces/shop/batchreleases/web" || header.Get("Webhook-Signature") != "" {
			t.Errorf("%s: got %+v", kind, got)
		}
		if len(body) > 6000 || len(got.Data.Subject) > sizeSubject || strings.ContainsFunc(string(body), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%s: want texts that are bounded and printable, got %d bytes: %s", kind, len(body), body)
		}
		if g := got.Data.Gate; g != nil && g.URL != "" && !strings.HasPrefix(g.URL, "https://") {
			t.Errorf("%s: want a web address or none, got %s", kind, g.URL)
		}
	}
}

func TestWebAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://forge.example/shop/pull/7": "https://forge.example/shop/pull/7",
		"javascript:alert(1)":               "", "//evil.example": "", "https://user:password@forge.example/": "", "": "", "https:///x": "",
		"https://forge.example/" + strings.Repeat("x", 500): "",
	} {
		if got := webAddress(address); got != want {
			t.Errorf("%s: want %q, got %q", address, want, got)
		}
	}
}

// TestSignature: the signature follows Standard Webhooks, by both keys.
func TestSignature(t *testing.T) {
	t.Parallel()
	fact := hostile(story.ReleaseStarted)
	n := noticeOf(&fact, nil, "")
	keys := []secret{conceal("new-key-new-key-new-key-"), conceal("old-key-old-key-old-key-")}
	body, header, err := eventRequest("id/1", &n, keys, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, key := range keys {
		hasher := hmac.New(sha256.New, []byte(key.reveal()))
		hasher.Write([]byte("id/1.1800000000." + string(body)))
		want = append(want, "v1,"+base64.StdEncoding.EncodeToString(hasher.Sum(nil)))
	}
	got := []string{header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), header.Get("Webhook-Signature")}
	if diff := cmp.Diff([]string{"id/1", "1800000000", strings.Join(want, " ")}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSlackMessage: the message has the release, its state, the commit, and a command or a link.
func TestSlackMessage(t *testing.T) {
	t.Parallel()
	filled, err := newWords(usualTemplate, Kinds())
	if err != nil {
		t.Fatal(err)
	}
	waits := Sample(story.GateOpened)
	asks := Sample(story.GateOpened)
	asks.Gate = &Gate{Type: v1alpha1.GatePullRequest, URL: "https://forge.example/shop/pull/7?a=1&b=2"}
	asks.Command, asks.Cluster, asks.Message = "", "", ""
	asks.Summary = summary(&asks)
	for want, n := range map[string]Notice{
		":raised_hand: *shop/web* (example): Batch 2 of 4 is done and waits for approval.\n0123456 Show prices with tax (Ada Lovelace)\n" +
			">This is a test: no release is in progress.\n`sluice approve batchrelease/web --namespace shop`": waits,
		":raised_hand: *shop/web*: Batch 2 of 4 is done and waits for a pull request to be merged.\n0123456 Show prices with tax (Ada Lovelace)\n" +
			"<https://forge.example/shop/pull/7?a=1&amp;b=2|Open it>": asks,
	} {
		got, err := filled.fill(escaped(n))
		if err != nil || got != want {
			t.Errorf("%v -want +got:\n%s", err, cmp.Diff(want, got))
		}
	}
}

// TestTemplatesEnd: a template can neither loop, nor call itself, nor make text that grows.
func TestTemplatesEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{range 1000000000}}{{end}}":                             "range is not supported",
		"{{if .Commit}}{{range .Kind}}x{{end}}{{end}}":            "range is not supported",
		"{{with .Gate}}x{{else}}{{range .Kind}}x{{end}}{{end}}":   "range is not supported",
		`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`:   "define and block are not supported",
		`{{block "a" .}}x{{end}}`:                                 "define and block are not supported",
		`{{template "template" .}}`:                               "template is not supported",
		`{{printf "%1000000000d" 1}}`:                             "the function printf is not supported",
		`{{$x := print "a" "a"}}{{$x = print $x $x}}`:             "the function print is not supported",
		`{{if eq (js .Subject) "x"}}{{end}}`:                      "the function js is not supported",
		`{{(html .Subject)}}`:                                     "the function html is not supported",
		`{{$x := .Time.Format "12"}}`:                             "there is no field Format",
		`{{$t := .Time}}{{$t.Format "12"}}`:                       "there is no field Format",
		`{{with .Time}}{{.Format "12"}}{{end}}`:                   "there is no field Format",
		`{{(.Time).Format "12"}}`:                                 "there is no field Format",
		`{{call .Kind}}`:                                          "the function call is not supported",
		`{{index .Subject 1}}`:                                    "the function index is not supported",
		`{{env "HOME"}}`:                                          `function "env" not defined`,
		"":                                                        "must not be empty",
		"{{/* nothing */}}":                                       "must not be empty",
		strings.Repeat("x", sizeTemplate+1):                       "must be at most 8192 bytes",
		"{{.Subject.Name}}":                                       "can't be filled",
		"{{if and .Commit (eq .Kind \"x\")}}{{short 7}}{{end}}ok": "",
	} {
		_, err := newWords(text, Kinds())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: want %q, got %v", text, want, err)
		}
	}
	long, err := newWords(strings.Repeat("{{.Message}}é", 500), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	fact := hostile(story.ReleaseStopped)
	if got, err := long.fill(noticeOf(&fact, nil, "")); err != nil || len(got) > sizeSlack || !strings.HasSuffix(got, "…") {
		t.Errorf("want at most %d bytes, got %d, %v", sizeSlack, len(got), err)
	}
}

// TestEveryKindIsTold: each kind has a type, a sentence of its own and an emoji.
func TestEveryKindIsTold(t *testing.T) {
	t.Parallel()
	types, sentences := map[string]bool{}, map[string]bool{}
	for _, kind := range Kinds() {
		n := Sample(kind)
		if n.Summary == string(kind)+"." || kinds[kind].emoji == "" || !strings.HasPrefix(kinds[kind].event, "dev.sluice.") {
			t.Errorf("%s: got %q", kind, n.Summary)
		}
		types[kinds[kind].event], sentences[n.Summary] = true, true
	}
	if len(types) != len(kinds) || len(sentences) != len(kinds) {
		t.Errorf("want a type and a sentence for each of %d kinds, got %v, %v", len(kinds), types, sentences)
	}
}

// TestIDs: a repeated event of a release is reported again; a single event has one ID, in any
// batch.
func TestIDs(t *testing.T) {
	t.Parallel()
	fact := func(kind story.Kind, batch int) *story.Fact {
		return &story.Fact{Kind: kind, UID: "uid", Attempt: 2, Batch: batch}
	}
	for want, got := range map[string]string{
		"uid/2/ReleaseCompleted/0": idOf(fact(story.ReleaseCompleted, 3), 0),
		"uid/2/BatchDone/3":        idOf(fact(story.BatchDone, 3), 0),
		"uid/2/ReleaseStopped/3/1": idOf(fact(story.ReleaseStopped, 3), 1),
		"uid/2/ReleaseStopped/3/2": idOf(fact(story.ReleaseStopped, 3), 2),
	} {
		if got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}
