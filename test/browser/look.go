package browser

import (
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Look is the size and the preferences of a person's browser.
type Look struct {
	Name          string
	Width, Height int64
	// Phone says that it is one: touched, and with a dense screen.
	Phone bool
	// Dark and Still are the person's preferences: dark colours, and no motion.
	Dark, Still bool
}

// Looks are those that pages are tried in.
var Looks = []Look{
	{Name: "desktop", Width: 1280, Height: 900},
	{Name: "desktop-dark", Width: 1280, Height: 900, Dark: true},
	{Name: "phone", Width: 390, Height: 844, Phone: true},
	{Name: "phone-dark", Width: 390, Height: 844, Phone: true, Dark: true, Still: true},
}

// Through has the tab shown through something.
func (b *Tab) Through(look Look) {
	b.t.Helper()
	var phone []chromedp.EmulateViewportOption
	if look.Phone {
		phone = append(phone, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	scheme, motion := "light", "no-preference"
	if look.Dark {
		scheme = "dark"
	}
	if look.Still {
		motion = "reduce"
	}
	err := chromedp.Do(b.ctx, chromedp.EmulateViewport(look.Width, look.Height, phone...))
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
		}})
	}
	if err != nil {
		b.t.Fatalf("look through %s: %v", look.Name, err)
	}
}

// WithoutScripts has the pages of the tab run none.
func (b *Tab) WithoutScripts() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatalf("switch scripts off: %v", err)
	}
}

// Press presses keys, such as kb.Tab of chromedp.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatalf("press %q: %v", keys, err)
	}
}

// Picture returns what is seen of the page, as PNG.
func (b *Tab) Picture() []byte {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatalf("take a picture: %v", err)
	}
	return picture
}

// Address returns where the tab is.
func (b *Tab) Address() string {
	b.t.Helper()
	address, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		b.t.Fatalf("read the address: %v", err)
	}
	return address
}

// Ask evaluates an expression in the page, and waits for it if it is a promise.
func Ask[T any](b *Tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("ask the page for %.200s: %v", expression, err)
	}
	return value
}

// Await waits until an expression is true in the page. The page may be another one meanwhile.
func (b *Tab) Await(expression string, within time.Duration) {
	b.t.Helper()
	deadline := time.Now().Add(within)
	for {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %v on the page: %s: %v\n%s", within, expression, err, b.Text())
		}
		if err := chromedp.Do(b.ctx, chromedp.Sleep(lookAgain)); err != nil {
			b.t.Fatalf("wait on the page: %v", err)
		}
	}
}

// lookAgain is how long after a look at a page the next one is.
const lookAgain = 10 * time.Millisecond
