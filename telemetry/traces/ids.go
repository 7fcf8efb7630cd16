package traces

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
)

// TraceID returns the ID of the trace of an attempt of a release, as people search for it: 32
// hexadecimal digits. The namespace is part of it: anyone who may write a Gate can name a release
// of another namespace, and must not write into its trace.
func TraceID(namespace string, uid types.UID, attempt int64) string {
	id := traceID(namespace, uid, attempt)
	return hex.EncodeToString(id[:])
}

func traceID(namespace string, uid types.UID, attempt int64) trace.TraceID {
	sum := sha256.Sum256(fmt.Appendf(nil, "sluice trace %q %q %d", namespace, uid, attempt))
	id := trace.TraceID(sum[:16])
	id[15] |= 1 // an ID of only zeros is invalid
	return id
}

// part identifies a span in its trace.
type part struct {
	kind  string
	batch int
	gate  types.UID
}

func spanID(in trace.TraceID, of part) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "sluice span %x %q %d %q", in[:], of.kind, of.batch, of.gate))
	id := trace.SpanID(sum[:8])
	id[7] |= 1
	return id
}

// givenIDs is an IDGenerator that takes the IDs from the context: the code that starts a span
// chooses them.
type givenIDs struct{}

type idsKey struct{}

// withIDs returns a context in which the next span has those IDs.
func withIDs(ctx context.Context, in trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, trace.NewSpanContext(trace.SpanContextConfig{TraceID: in, SpanID: span}))
}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(idsKey{}).(trace.SpanContext)
	return ids.TraceID(), ids.SpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := g.NewIDs(ctx)
	return span
}
