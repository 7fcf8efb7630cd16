package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/approvals/webhook"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// serve runs the receiver on a free port, which it logs.
func (w *world) serve() (url string, stop func() error) {
	w.Helper()
	listening := make(chan string, 1)
	address := regexp.MustCompile(`"address"="([^"]+)"`)
	log := funcr.New(func(_, args string) {
		if found := address.FindStringSubmatch(args); found != nil {
			listening <- found[1]
		}
	}, funcr.Options{})
	receiver := webhook.New(w.cached, w.live, webhook.Options{Address: "127.0.0.1:0", Logger: log, Clock: w.clock})
	if receiver.NeedLeaderElection() {
		w.Error("every replica must take webhooks")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- receiver.Start(ctx) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case at := <-listening:
		return "http://" + at, stop
	case err := <-ended:
		w.Fatalf("start: %v", err)
	}
	return "", stop
}

func TestServe(t *testing.T) {
	w := newWorld(t)
	url, stop := w.serve()
	try := func(h hook) (int, error) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+h.path, bytes.NewReader(h.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = h.request().Header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	send := func(h hook) (code int) {
		t.Helper()
		// The connection may end before the answer where a body is refused in its midst.
		cptest.Eventually(t, soon, func() (err error) {
			code, err = try(h)
			return err
		})
		return code
	}
	if got := send(w.hook("push", push("main"))); got != http.StatusAccepted || w.asked()["source shop"] == "" {
		t.Errorf("got %d, and %v is to be looked at", got, w.asked())
	}
	large := w.hook("push", "")
	large.body = make([]byte, 25<<20)
	if got := send(large); got != http.StatusRequestEntityTooLarge {
		t.Errorf("25 MB: got %d", got)
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		conn.Close()
		t.Error("it still listens after its end")
	}
}

func TestAddressThatIsTaken(t *testing.T) {
	w := newWorld(t)
	url, stop := w.serve()
	receiver := webhook.New(w.cached, w.live, webhook.Options{Address: url[len("http://"):]})
	if err := receiver.Start(t.Context()); err == nil {
		t.Error("two receivers listen on one address")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestEventsAreCounted: the headers must not bring as many series as there are words.
func TestEventsAreCounted(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		h := w.hook(fmt.Sprintf("made-up-%d", i), fmt.Sprintf(`{"n":%d}`, i))
		w.want(h, http.StatusAccepted, "nothing waits")
	}
	if got := counted(t, "other", "ignored"); got < 3 {
		t.Errorf("webhooks of no use were counted %v times, want at least 3", got)
	}
	if got := counted(t, "made-up-0", "ignored"); got != 0 {
		t.Errorf("an event that is made up has a series of its own, with %v", got)
	}
}

// counted returns the value of the counter; 0 if there is none with these labels.
func counted(t *testing.T, event, result string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "sluice_webhooks_total" && labels["event"] == event && labels["result"] == result {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}
