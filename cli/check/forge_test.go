package check

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/forge"
)

// TestUnprotected: every way that is known round an approval is told, the widest first.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	whole := forge.Protection{Protected: true, PullRequest: true, Approvals: 1, DismissesStale: true}
	for want, change := range map[string]func(*forge.Protection){
		"there is none":                    func(p *forge.Protection) { *p = forge.Protection{} },
		"not shown to this account":        func(p *forge.Protection) { *p = forge.Protection{Protected: true, Hidden: true} },
		"changes need no pull request":     func(p *forge.Protection) { p.PullRequest = false },
		"does not hold the account":        func(p *forge.Protection) { p.WeBypass = true },
		"does not hold administrators":     func(p *forge.Protection) { p.AdminsBypass = true },
		"pull requests take no approval":   func(p *forge.Protection) { p.Approvals = 0 },
		"stay when new commits are pushed": func(p *forge.Protection) { p.DismissesStale = false },
	} {
		got := whole
		change(&got)
		if text := unprotected(got); !strings.Contains(text, want) {
			t.Errorf("want %q of %+v, got %q", want, got, text)
		}
	}
	if text := unprotected(whole); text != "" {
		t.Errorf("want nothing said of a branch that is protected, got %q", text)
	}
}

// TestUnheard: a webhook that has no effect is told why.
func TestUnheard(t *testing.T) {
	t.Parallel()
	whole := forge.Hook{URL: "https://example.com/hooks/shop/shop", ContentType: "json", Events: wanted, Active: true, Signed: true}
	for want, change := range map[string]func(*forge.Hook){
		"not active":                      func(h *forge.Hook) { h.Active = false },
		"content type is form":            func(h *forge.Hook) { h.ContentType = "form" },
		"no secret":                       func(h *forge.Hook) { h.Signed = false },
		"does not send push, check_suite": func(h *forge.Hook) { h.Events = wanted[1:5] },
	} {
		got := whole
		change(&got)
		if text := unheard(got); !strings.Contains(text, want) {
			t.Errorf("want %q of %+v, got %q", want, got, text)
		}
	}
	everything := whole
	everything.Events = []string{"*"}
	if unheard(whole) != "" || unheard(everything) != "" {
		t.Errorf("want nothing said of webhooks that are well, got %q, %q", unheard(whole), unheard(everything))
	}
}
