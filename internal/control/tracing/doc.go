// Package tracing makes spans of requests and their attempts for the gateway,
// and sends them to an OpenTelemetry collector over OTLP and HTTP.
//
// [Tracing] is a span.Tracer. A caller's traceparent decides whether its
// request is traced; of the others a share is. What is not traced costs a random
// number and allocates nothing.
//
//	Start, End ─► queue (2,048 spans) ─► batches of up to 512, or what a second brought ─► collector
//	                 │ full: dropped                     │ it fails: nothing is traced for 1 s, 2 s … 30 s
//
// # Guarantees
//
//   - No request waits for a span: what the queue has no room for is dropped and
//     counted.
//   - A collector that is down or slow costs nothing: while it is left alone no
//     span begins. That is logged once, and once more when it is over.
//   - Spans and attributes are called as the semantic conventions have it. Neither
//     paths, queries, headers nor callers are in them: they may name people, and
//     the route says which service it was. A method that nobody knows is _OTHER.
//
// # Not guaranteed
//
// Every span: those of a request that ends while the queue is full are lost, and
// so are those that wait when the process is killed. [Tracing.Run] sends them
// when it is asked to end, for up to five seconds.
package tracing
