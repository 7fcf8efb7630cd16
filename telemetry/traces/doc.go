// Package traces tells facts about releases as OpenTelemetry traces: one trace for each release, with a span for each batch and
// for each wait at a gate.
//
//	Facts ──► spansOf ──► Exporter.Tell ──► bounded queue ──► OTLP ──► collector
//	                                             └──► sluice_spans_dropped_total
//
// What must hold:
//
//   - a span is made when what it is about has ended, from the times of the fact: nothing is kept open, and a restart loses none of it;
//   - the IDs of a trace and its spans follow from what they are about: whichever process tells a part, it is a part of the same trace;
//   - Tell never waits: what the collector does not take in time is dropped and counted.
package traces
