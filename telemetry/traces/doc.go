// Package traces sends facts about releases as OpenTelemetry traces: one trace for each release,
// with a span for each batch and for each wait at a gate.
//
//	Facts ──► spansOf ──► Exporter.Tell ──► bounded queue ──► OTLP ──► collector
//	                                             └──► sluice_spans_dropped_total
//
// What must hold:
//
//   - a span is made when it ends, from the times of the fact: no span is kept open, and a restart
//     loses none;
//   - the IDs of a trace and its spans are derived from the release: whichever process sends a
//     part, it belongs to the same trace;
//   - Tell never waits: spans that the collector does not accept in time are dropped and counted.
package traces
