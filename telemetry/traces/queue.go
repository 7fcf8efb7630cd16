package traces

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxWaiting is how many spans wait for the collector, those in progress included; some 2 KiB each.
	maxWaiting = 2048
	// maxBatch is how many are sent at once, and batchWait how long they wait for others.
	maxBatch  = 256
	batchWait = 2 * time.Second
	// maxError is how much is logged of what a collector says.
	maxError = 512
)

var dropped = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "sluice_spans_dropped_total", Help: "Spans of traces that were dropped, because too many waited or the collector did not accept them.",
}, []string{"reason"})

// The reasons are there from the beginning, so that an increase is seen.
var (
	droppedFull    = dropped.WithLabelValues("queue_full")
	droppedRefused = dropped.WithLabelValues("not_taken")
)

// queue lets spans wait, up to a number: the processor behind it would drop the others as well, and
// not say so.
type queue struct {
	sdktrace.SpanProcessor

	sender *sender
}

func newQueue(to *sender) sdktrace.SpanProcessor {
	return &queue{sdktrace.NewBatchSpanProcessor(to,
		sdktrace.WithMaxQueueSize(maxWaiting), sdktrace.WithMaxExportBatchSize(maxBatch), sdktrace.WithBatchTimeout(batchWait), sdktrace.WithExportTimeout(sendTime),
	), to}
}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if q.sender.waiting.Add(1) > maxWaiting {
		q.sender.waiting.Add(-1)
		droppedFull.Inc()
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// sender sends spans, and counts and logs those that were not accepted.
type sender struct {
	sdktrace.SpanExporter

	waiting atomic.Int64
	logger  logr.Logger
	seldom  rate.Sometimes
	ended   context.Context //nolint:containedctx // it ends with the process's patience, whoever asks
	end     context.CancelFunc
}

func newSender(to sdktrace.SpanExporter, logger logr.Logger) *sender {
	ended, end := context.WithCancel(context.Background())
	return &sender{SpanExporter: to, logger: logger, seldom: rate.Sometimes{Interval: time.Minute}, ended: ended, end: end}
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error: no caller would handle one.
func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	defer s.waiting.Add(int64(-len(spans)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	if err := s.SpanExporter.ExportSpans(ctx, spans); err != nil {
		droppedRefused.Add(float64(len(spans)))
		s.complain(err)
	}
	return nil
}

// giveUp ends what is in progress.
func (s *sender) giveUp(err error) {
	s.end()
	if err != nil {
		s.complain(err)
	}
}

// complain logs at most once a minute. The message of a collector is text from outside.
func (s *sender) complain(err error) {
	s.seldom.Do(func() {
		s.logger.Info("traces are not delivered; releases are not affected", "problem", plain.UpTo(plain.Line(err.Error()), maxError))
	})
}
