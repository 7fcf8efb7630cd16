package github_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// The example of GitHub's documentation.
const (
	documentedSecret    = "It's a Secret to Everybody"
	documentedPayload   = "Hello, World!"
	documentedSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func TestValidSignature(t *testing.T) {
	t.Parallel()
	good, other := []byte(documentedSecret), []byte("another")
	tests := map[string]struct {
		header  string
		payload string
		secrets [][]byte
		want    bool
	}{
		"Documented":      {documentedSignature, documentedPayload, [][]byte{good}, true},
		"Upper":           {"sha256=" + strings.ToUpper(documentedSignature[7:]), documentedPayload, [][]byte{good}, true},
		"SecondOfTwo":     {documentedSignature, documentedPayload, [][]byte{other, good}, true},
		"FirstOfTwo":      {documentedSignature, documentedPayload, [][]byte{good, other}, true},
		"BesideAnEmpty":   {documentedSignature, documentedPayload, [][]byte{nil, {}, good}, true},
		"OtherSecret":     {documentedSignature, documentedPayload, [][]byte{other}, false},
		"OtherPayload":    {documentedSignature, documentedPayload + "!", [][]byte{good}, false},
		"NoSecret":        {documentedSignature, documentedPayload, nil, false},
		"NoSignature":     {"", documentedPayload, [][]byte{good}, false},
		"Empty":           {"sha256=", documentedPayload, [][]byte{good}, false},
		"NoPrefix":        {documentedSignature[7:], documentedPayload, [][]byte{good}, false},
		"Cut":             {documentedSignature[:len(documentedSignature)-2], documentedPayload, [][]byte{good}, false},
		"Longer":          {documentedSignature + "00", documentedPayload, [][]byte{good}, false},
		"NoHex":           {"sha256=zz", documentedPayload, [][]byte{good}, false},
		"WithEmptySecret": {"sha256=" + hmacOfNothing, "", [][]byte{{}, nil}, false},
		// As good as signed, but with a hash that is not to be trusted any more.
		"SHA1": {"sha1=" + sha1OfDocumented, documentedPayload, [][]byte{good}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := github.ValidSignature(tt.header, []byte(tt.payload), tt.secrets...); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

const (
	hmacOfNothing    = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" // no key, no message
	sha1OfDocumented = "01dc10d0c83e72ed246219cdd91669667fe2ca59"
)

// theirs returns the event that go-github's own types read of a payload, if they can.
func theirs(t *testing.T, kind forge.EventKind, payload []byte) (e forge.Event, readable bool) {
	t.Helper()
	parsed, err := gogithub.ParseWebHook(string(kind), payload)
	if err != nil {
		t.Logf("go-github can't read a recorded payload: %v", err)
		return forge.Event{}, false
	}
	return converted(t, kind, parsed), true
}

func converted(t *testing.T, kind forge.EventKind, parsed any) forge.Event {
	t.Helper()
	in := func(r interface {
		GetID() int64
		GetFullName() string
	},
	) forge.Repository {
		return forge.Repository{ID: r.GetID(), FullName: r.GetFullName()}
	}
	switch e := parsed.(type) {
	case *gogithub.PingEvent:
		return forge.Event{Kind: kind, Repository: in(e.GetRepo())}
	case *gogithub.PushEvent:
		branch, isBranch := strings.CutPrefix(e.GetRef(), "refs/heads/")
		if !isBranch {
			branch = ""
		}
		return forge.Event{Kind: kind, Repository: in(e.GetRepo()), Branch: branch, Deleted: e.GetDeleted() && isBranch, SHA: e.GetAfter()}
	case *gogithub.PullRequestEvent:
		p := e.GetPullRequest()
		return forge.Event{
			Kind: kind, Repository: in(e.GetRepo()), Action: e.GetAction(), Number: e.GetNumber(), Merged: p.GetMerged(),
			Branch: p.GetBase().GetRef(), Head: p.GetHead().GetRef(), SHA: p.GetHead().GetSHA(),
		}
	case *gogithub.PullRequestReviewEvent:
		p := e.GetPullRequest()
		return forge.Event{
			Kind: kind, Repository: in(e.GetRepo()), Action: e.GetAction(), Number: p.GetNumber(), Merged: p.GetMerged(),
			Branch: p.GetBase().GetRef(), Head: p.GetHead().GetRef(), SHA: p.GetHead().GetSHA(),
		}
	case *gogithub.StatusEvent:
		return forge.Event{Kind: kind, Repository: in(e.GetRepo()), SHA: e.GetSHA(), Name: e.GetContext()}
	case *gogithub.CheckRunEvent:
		run := e.GetCheckRun()
		return forge.Event{
			Kind: kind, Repository: in(e.GetRepo()), Action: e.GetAction(), SHA: run.GetHeadSHA(), Name: run.GetName(), App: run.GetApp().GetSlug(),
		}
	case *gogithub.CheckSuiteEvent:
		suite := e.GetCheckSuite()
		return forge.Event{Kind: kind, Repository: in(e.GetRepo()), Action: e.GetAction(), SHA: suite.GetHeadSHA(), App: suite.GetApp().GetSlug()}
	}
	t.Fatalf("go-github has the unexpected type %T for %s", parsed, kind)
	return forge.Event{}
}

var kinds = []forge.EventKind{
	forge.EventPing, forge.EventPush, forge.EventPullRequest, forge.EventReview, forge.EventStatus, forge.EventCheckRun, forge.EventCheckSuite,
}

// mergedPull makes the recorded pull request that was closed one that was merged: GitHub has
// recorded none.
func mergedPull(t testing.TB) []byte {
	t.Helper()
	for _, example := range forgetest.Examples(t, "pull_request") {
		var event map[string]any
		if err := json.Unmarshal(example, &event); err != nil {
			t.Fatal(err)
		}
		if event["action"] != "closed" {
			continue
		}
		pull := event["pull_request"].(map[string]any)
		pull["merged"], pull["merged_at"], pull["merged_by"] = true, pull["closed_at"], pull["user"]
		pull["merge_commit_sha"] = strings.Repeat("e", 40)
		merged, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		return merged
	}
	t.Fatal("no recorded pull request was closed")
	return nil
}

// TestParseRecordedEvents: we read recorded events of GitHub as go-github does, and also those
// that it can't read.
func TestParseRecordedEvents(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			examples := forgetest.Examples(t, string(kind))
			if kind == forge.EventPullRequest {
				examples = append(examples, mergedPull(t))
			}
			for i, example := range examples {
				got, err := github.ParseEvent(string(kind), example)
				if err != nil {
					t.Fatalf("example %d: %v", i, err)
				}
				if want, readable := theirs(t, kind, example); readable && got != want {
					t.Errorf("example %d (-want +got):\n%s", i, cmp.Diff(want, got))
				}
				if kind != forge.EventPing && (got.Repository.ID == 0 || got.SHA == "") {
					t.Errorf("example %d says too little: %+v", i, got)
				}
			}
			t.Logf("%d payloads", len(examples))
		})
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	const repository = `"repository":{"id":7,"full_name":"shop/web"`
	in := forge.Repository{ID: 7, FullName: "shop/web"}
	tests := map[string]struct {
		event, payload string
		want           forge.Event
	}{
		"Push":    {"push", `{"ref":"refs/heads/team/main","after":"c0ffee",` + repository + `}}`, forge.Event{Kind: "push", Repository: in, Branch: "team/main", SHA: "c0ffee"}},
		"Deleted": {"push", `{"ref":"refs/heads/main","after":"0000","deleted":true,` + repository + `}}`, forge.Event{Kind: "push", Repository: in, Branch: "main", Deleted: true, SHA: "0000"}},
		"Tag":     {"push", `{"ref":"refs/tags/v1","after":"c0ffee","deleted":true,` + repository + `}}`, forge.Event{Kind: "push", Repository: in, SHA: "c0ffee"}},
		// go-github v60 fails here.
		"PropertyOfSeveralValues": {"push", `{"ref":"refs/heads/main",` + repository + `,"custom_properties":{"teams":["a","b"]}}}`, forge.Event{Kind: "push", Repository: in, Branch: "main"}},
		"Merged": {
			"pull_request", `{"action":"closed","number":3,"pull_request":{"number":3,"merged":true,"base":{"ref":"main"},"head":{"sha":"c0ffee"}},` + repository + `}}`,
			forge.Event{Kind: "pull_request", Action: "closed", Repository: in, Number: 3, Merged: true, Branch: "main", SHA: "c0ffee"},
		},
		"NoPullRequest":     {"pull_request", `{"pull_request":null,` + repository + `}}`, forge.Event{Kind: "pull_request", Repository: in}},
		"PingOfAnOrg":       {"ping", `{"zen":"x"}`, forge.Event{Kind: "ping"}},
		"Other":             {"star", `{`, forge.Event{Kind: forge.EventOther}},
		"OtherByOurOwnName": {"other", `{}`, forge.Event{Kind: forge.EventOther}},
		"NoName":            {"", `{}`, forge.Event{Kind: forge.EventOther}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := github.ParseEvent(tt.event, []byte(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"", "null", "[]", "{", `"x"`, "{}", `{"repository":null}`, `{"repository":{"full_name":7}}`, `{"repository":{"id":7}}`,
		`{"ref":["main"],"repository":{"full_name":"a/b"}}`, strings.Repeat(`{"a":`, 100_000),
	} {
		if got, err := github.ParseEvent("push", []byte(payload)); err == nil {
			t.Errorf("%.50q was taken for %+v", payload, got)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, kind := range kinds {
		for _, example := range forgetest.Examples(f, string(kind)) {
			f.Add(string(kind), []byte(example))
		}
	}
	f.Add("pull_request", mergedPull(f))
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		got, err := github.ParseEvent(event, payload)
		switch {
		case err != nil && got != forge.Event{}:
			t.Errorf("an error and %+v", got)
		case err == nil && got.Kind != forge.EventOther && got.Kind != forge.EventPing && got.Repository.FullName == "":
			t.Errorf("an event of no repository: %+v", got)
		}
	})
}
