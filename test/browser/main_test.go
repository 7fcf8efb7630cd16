package browser_test

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

func TestMain(m *testing.M) {
	sandbox.Main(spec.Build)
	log.SetLogger(logr.Discard())
	cptest.Main(m)
}

// lent is the browser of the tests that run at a time: it is closed when none needs it.
var lent struct {
	sync.Mutex

	users   int
	browser *browser.Browser
	end     func()
	err     error
}

// chromium returns a browser that tests share.
func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	lent.Lock()
	defer lent.Unlock()
	if lent.users == 0 {
		lent.browser, lent.end, lent.err = browser.Launch(context.Background())
	}
	lent.users++
	t.Cleanup(func() {
		lent.Lock()
		defer lent.Unlock()
		if lent.users--; lent.users == 0 {
			lent.end()
		}
	})
	return browser.Want(t, lent.browser, lent.err)
}
