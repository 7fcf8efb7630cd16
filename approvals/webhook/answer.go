package webhook

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/forge/webhooks"
)

// answer is the response to a request, with its label in the metrics.
type answer struct {
	status       int
	result, text string
	// retry asks to try again in a while.
	retry bool
	// unsigned says that no secret of a source has signed the request, as far as it was read.
	unsigned bool
}

// The answers. Those to somebody who has not signed with a secret reveal nothing about sources.
var (
	accepted     = answer{status: http.StatusAccepted, result: "accepted", text: "accepted"}
	ignored      = answer{status: http.StatusAccepted, result: "ignored", text: "nothing waits for this"}
	elsewhere    = answer{status: http.StatusAccepted, result: "wrong-repository", text: "ignored: the source is of another repository"}
	repeated     = answer{status: http.StatusAccepted, result: "repeated", text: "already taken"}
	malformed    = answer{status: http.StatusBadRequest, result: "malformed", text: "the payload can't be read"}
	unreadable   = answer{status: http.StatusBadRequest, result: "unreadable", text: "the body can't be read", unsigned: true}
	unauthorized = answer{status: http.StatusUnauthorized, result: "unauthorized", text: "no such source, or not signed with its secret", unsigned: true}
	tooLarge     = answer{status: http.StatusRequestEntityTooLarge, result: "too-large", text: "the payload is larger than 5 MiB", unsigned: true}
	unsupported  = answer{status: http.StatusUnsupportedMediaType, result: "unsupported", text: "the content type must be application/json", unsigned: true}
	slow         = answer{status: http.StatusRequestTimeout, result: "slow", text: "the body came too slowly", unsigned: true}
	limited      = answer{status: http.StatusTooManyRequests, result: "limited", text: "too many requests", retry: true}
	panicked     = answer{status: http.StatusInternalServerError, result: "panic", text: "internal error"}
	failed       = answer{status: http.StatusInternalServerError, result: "failed", text: "the webhook could not be passed on"}
	busy         = answer{status: http.StatusServiceUnavailable, result: "busy", text: "too many requests at once", retry: true}
	unavailable  = answer{status: http.StatusServiceUnavailable, result: "unavailable", text: "the signature can't be checked now", retry: true}
)

var received = fromZero(promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "sluice_webhooks_total",
	Help: "Webhooks that were received, by event and by what became of them.",
}, []string{"event", "result"}))

// fromZero begins a series of each event at 0: a missing series looks the same as a scrape that
// fails.
func fromZero(counts *prometheus.CounterVec) *prometheus.CounterVec {
	for _, kind := range webhooks.Kinds() {
		counts.WithLabelValues(string(kind), accepted.result)
	}
	return counts
}

// count counts a request. Events that are of no use count as one: anybody can choose the header.
func count(header http.Header, a answer) {
	received.WithLabelValues(string(webhooks.KindOf(header)), a.result).Inc()
}
