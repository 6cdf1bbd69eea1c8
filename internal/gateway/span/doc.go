// Package span defines what a tracer gets for each request and attempt: a [Span] and its
// [Trace], as in the traceparent field of W3C Trace Context.
package span
