// Package tracing creates spans of requests and their attempts for the gateway, and sends
// them to an OpenTelemetry collector over OTLP and HTTP.
//
// [Tracing] implements span.Tracer. A caller's traceparent decides whether its request is
// traced; of the other requests, a share is. A request that is not traced costs one random
// number and no allocation.
//
//	Start, End ─► queue (2,048 spans) ─► batches of up to 512, or what a second brought ─► collector
//	                 │ full: dropped                     │ it fails: nothing is traced for 1 s, 2 s … 30 s
//
// # Guarantees
//
//   - No request waits for a span: spans that do not fit into the queue are dropped and
//     counted.
//   - A collector that is down or slow costs nothing: during a pause no span starts. The
//     log has one line when the pauses begin and one when they are over.
//   - Names of spans and attributes follow the semantic conventions. Spans contain no paths,
//     queries, headers or callers, which may identify people; the route names the service.
//     An unknown method is _OTHER.
//
// # Not guaranteed
//
// Some spans are lost: those of requests that end while the queue is full, and those in the
// queue when the process is killed. After its context ends, [Tracing.Run] sends the queued
// spans for up to five seconds.
package tracing
