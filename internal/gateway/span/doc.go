// Package span says what a tracer is told of requests and attempts: a [Span], and its
// [Trace] as the traceparent field of W3C Trace Context has it.
package span
