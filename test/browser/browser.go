// Package browser has tests look at pages with a real browser, as people do.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// pageTimeout is how long all that is done in one tab may take, on a busy machine.
const pageTimeout = 5 * time.Minute

// Browser is a real one, Chromium or Chrome, without a window.
type Browser struct {
	ctx context.Context //nolint:containedctx // chromedp knows a browser by its context
}

// Start starts a browser with a profile of its own; the test's end closes it. Where the machine
// has none the test is skipped, but in CI (CI=true) it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	started, end, err := Launch(t.Context())
	t.Cleanup(end)
	return Want(t, started, err)
}

// Launch starts a browser with a profile of its own, which the function that it returns closes: for
// several tests, or none.
func Launch(ctx context.Context) (*Browser, func(), error) {
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		// It looks at nothing but pages of ours, and many containers have no room for a sandbox.
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	ctx, end := chromedp.NewExecAllocator(ctx, flags...)
	ctx, closeTab := chromedp.NewContext(ctx)
	return &Browser{ctx: ctx}, func() { closeTab(); end() }, chromedp.Do(ctx)
}

// Want returns a browser that Launch has started, or tried to: where the machine has none the test
// is skipped, but in CI (CI=true) it fails.
func Want(t testing.TB, started *Browser, err error) *Browser {
	t.Helper()
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true":
		t.Skip("needs Chromium or Chrome (Debian: apt-get install chromium)")
	case err != nil:
		t.Fatalf("start Chromium or Chrome (Debian: apt-get install chromium): %v", err)
	}
	return started
}

// Tab is a browser tab. An error in it ends the test.
type Tab struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // chromedp knows a tab by its context
	faults *faults
}

// Tab opens another one. All tabs of a browser share who has signed in where.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	return b.open(t)
}

// Person opens a tab of somebody else, who has not signed in anywhere.
func (b *Browser) Person(t testing.TB) *Tab {
	t.Helper()
	return b.open(t, chromedp.WithNewBrowserContext())
}

func (b *Browser) open(t testing.TB, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, options...)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	t.Cleanup(cancel)
	tab := &Tab{t: t, ctx: ctx, faults: &faults{}}
	if err := tab.faults.watch(ctx); err != nil {
		t.Fatalf("open tab: %v", err)
	}
	return tab
}

// In returns the tab in a test that is part of the one that has opened it.
func (b *Tab) In(t testing.TB) *Tab {
	return &Tab{t: t, ctx: b.ctx, faults: b.faults}
}

// Open goes to an address.
func (b *Tab) Open(url string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		b.t.Fatalf("open %s: %v", url, err)
	}
}

// Type writes into the field of that name.
func (b *Tab) Type(field, text string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS("input[name="+field+"]"), text)); err != nil {
		b.t.Fatalf("type into %s: %v", field, err)
	}
}

// Choose takes one of the values that the field of that name offers.
func (b *Tab) Choose(field, value string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SetValue(chromedp.CSS("select[name="+field+"]"), value)); err != nil {
		b.t.Fatalf("choose %s as %s: %v", value, field, err)
	}
}

// Click clicks the first button or link with that text, once it can be clicked, and waits for the
// page that it leads to.
func (b *Tab) Click(text string) {
	b.t.Helper()
	target := fmt.Sprintf(`//main//*[self::a or self::button][contains(., %q)] | //header//button[contains(., %q)]`, text, text)
	resp, err := chromedp.RunResponse(b.ctx, chromedp.Click(target, chromedp.NodeEnabled))
	if err != nil {
		b.t.Fatalf("click %q: %v", text, err)
	}
	if resp.Status != http.StatusOK {
		b.t.Fatalf("click %q: got status %d\n%s", text, resp.Status, b.Text())
	}
}

// SignIn fills in the form that a page shows to whom it does not know.
func (b *Tab) SignIn(login, token string) {
	b.t.Helper()
	b.Choose("login", login)
	b.Type("token", token)
	b.Click("Sign in")
}

// Text returns what can be read on the page.
func (b *Tab) Text() string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
	if err != nil {
		b.t.Fatalf("read page: %v", err)
	}
	return text
}

// Sees waits for a page that shows a text.
func (b *Tab) Sees(text string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.WaitVisible(fmt.Sprintf(`//main[contains(., %q)]`, text))); err != nil {
		b.t.Fatalf("wait for a page with %q: %v\n%s", text, err, b.Text())
	}
}
