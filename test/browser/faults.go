package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// faults are the complaints of a browser in a tab: warnings and errors on the console, violations
// of a page's own policy, failed requests, and requests to other hosts.
type faults struct {
	lock sync.Mutex
	told []string
	// asked are the addresses of requests that are not answered yet.
	asked map[network.RequestID]string
	hosts map[string]bool
}

// watch hears of faults until the context ends.
func (f *faults) watch(ctx context.Context) error {
	f.asked, f.hosts = map[network.RequestID]string{}, map[string]bool{}
	if err := chromedp.Listen(ctx, f.hear); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{})
	return err
}

func (f *faults) hear(event any) {
	f.lock.Lock()
	defer f.lock.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		f.add("console %s: %s", e.Type, words(e.Args))
	case *runtime.EventExceptionThrown:
		f.add("exception: %s", (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelWarning || e.Entry.Level == log.EntryLevelError {
			f.add("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if violation := e.Issue.Details.ContentSecurityPolicyIssueDetails; violation != nil {
			f.add("policy: %s %s", violation.ViolatedDirective, violation.BlockedURL)
		}
	case *network.EventRequestWillBeSent:
		f.asked[e.RequestID] = e.Request.URL
		f.hosts[host(e.Request.URL)] = true
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			f.add("status %d: %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // a page that is left cancels what it waits for
			f.add("failed: %s: %s", f.asked[e.RequestID], e.ErrorText)
		}
	}
}

func (f *faults) add(format string, args ...any) {
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

func words(args []*runtime.RemoteObject) string {
	var text []string
	for _, arg := range args {
		text = append(text, strings.TrimSpace(string(arg.Value)+" "+arg.Description))
	}
	return strings.Join(text, " ")
}

// host returns the scheme and host of an address.
func host(address string) string {
	parts := strings.SplitN(address, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// Faults returns what the browser has complained of since they were asked for last.
func (b *Tab) Faults() []string {
	b.faults.lock.Lock()
	defer b.faults.lock.Unlock()
	told := b.faults.told
	b.faults.told = nil
	return told
}

// Hosts returns those that any request went to, in order.
func (b *Tab) Hosts() []string {
	b.faults.lock.Lock()
	defer b.faults.lock.Unlock()
	var all []string
	for one := range b.faults.hosts {
		all = append(all, one)
	}
	slices.Sort(all)
	return all
}
