package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// signingKey is the secret of a webhook that GitLab signs.
const signingKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// gitlabHook makes a webhook as GitLab sends it to the source "lab", with headers that prove it.
func (w *world) gitlabHook(event, payload string, prove func(hook, http.Header)) hook {
	h := w.hook(event, payload)
	h.path = "/hooks/" + w.namespace + "/lab"
	h.change = func(r *http.Request) {
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Gitlab-Event": {event}, "Idempotency-Key": {h.guid}}
		prove(h, r.Header)
	}
	return h
}

func withToken(value string) func(hook, http.Header) {
	return func(_ hook, header http.Header) { header.Set("X-Gitlab-Token", value) }
}

// signedAt signs as the Standard Webhooks say.
func signedAt(at time.Time) func(hook, http.Header) {
	return func(h hook, header http.Header) {
		key, err := base64.StdEncoding.DecodeString(signingKey[len("whsec_"):])
		if err != nil {
			panic(err)
		}
		timestamp := strconv.FormatInt(at.Unix(), 10)
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", h.guid, timestamp, h.body)
		header.Set("Webhook-Id", h.guid)
		header.Set("Webhook-Timestamp", timestamp)
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
}

func labPush(branch string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/%s","after":"%s","project":{"id":7,"path_with_namespace":"acme/apps/shop"}}`, branch, commit)
}

// lab adds a source on GitLab.
func (w *world) lab(secrets map[string]string) {
	w.Helper()
	w.secret("lab-hook", secrets)
	w.source("lab", func(s *v1alpha1.ReleaseSource) {
		s.Spec.URL = "https://lab.test/acme/apps/shop.git"
		s.Spec.Forge = &v1alpha1.Forge{Type: v1alpha1.ForgeGitLab, Owner: "acme/apps", Repo: "shop", SecretRef: v1alpha1.LocalReference{Name: "token"}}
		s.Spec.WebhookSecretRef = &v1alpha1.LocalReference{Name: "lab-hook"}
	})
}

func TestGitLabHooks(t *testing.T) {
	w := newWorld(t)
	w.lab(map[string]string{"secret": secret, "secret.next": signingKey})
	for name, prove := range map[string]func(hook, http.Header){"token": withToken(secret), "signature": signedAt(w.clock.Now())} {
		h := w.gitlabHook("Push Hook", labPush("main")+" ", prove)
		w.want(h, http.StatusAccepted, "accepted")
		if got := w.asked(); got["source lab"] == "" {
			t.Errorf("%s: want the source looked at, got %v", name, got)
		}
		w.forget()
		w.want(h, http.StatusAccepted, "already taken")
		again := w.gitlabHook("Push Hook", string(h.body), prove)
		if name == "token" { // a copy with another number
			w.want(again, http.StatusAccepted, "already taken")
		}
		if diff := cmp.Diff(map[string]string{}, w.asked()); diff != "" {
			t.Errorf("%s: a repetition asks for nothing: %s", name, diff)
		}
	}
}

// TestGitLabHooksThatProveNothing: the answer is that of a source that is not there.
func TestGitLabHooksThatProveNothing(t *testing.T) {
	w := newWorld(t)
	w.lab(map[string]string{"secret": signingKey})
	gone := w.gitlabHook("Push Hook", labPush("main"), withToken(signingKey))
	gone.path = "/hooks/" + w.namespace + "/missing"
	forHub := w.gitlabHook("Push Hook", labPush("main"), withToken(secret))
	forHub.path = "/hooks/" + w.namespace + "/shop"
	hubForLab := w.hook("push", push("main"))
	hubForLab.path, hubForLab.secret = "/hooks/"+w.namespace+"/lab", signingKey
	wanted := w.send(gone).Body.String()
	for name, h := range map[string]hook{
		"the key as a token":             w.gitlabHook("Push Hook", labPush("main"), withToken(signingKey)),
		"another token":                  w.gitlabHook("Push Hook", labPush("main"), withToken("other")),
		"no proof":                       w.gitlabHook("Push Hook", labPush("main"), func(hook, http.Header) {}),
		"kept for long":                  w.gitlabHook("Push Hook", labPush("main"), signedAt(w.clock.Now().Add(-time.Hour))),
		"a token for a source on GitHub": forHub,
		"GitHub's signature for GitLab":  hubForLab,
	} {
		if got := w.send(h); got.Code != http.StatusUnauthorized || got.Body.String() != wanted {
			t.Errorf("%s: got %d %q, want what a source that is not there answers", name, got.Code, got.Body)
		}
	}
	if got := w.asked(); len(got) > 0 {
		t.Errorf("want nothing asked for, got %v", got)
	}
}
