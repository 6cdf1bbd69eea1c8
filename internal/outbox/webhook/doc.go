// Package webhook is a sink that sends events of an outbox to an HTTP endpoint. It uses
// CloudEvents 1.0 over HTTP, and signatures as defined by Standard Webhooks.
//
// # Modes
//
// In binary mode each event is one request: the payload is the body, the attributes are
// headers with the prefix ce-, and the event's own headers are headers. In structured mode
// the body is the event in JSON. In batched mode the body is a JSON array of events.
//
// # Order
//
// The sink sends events of one key one after another, each after the answer to the previous
// one. It sends up to Config.Parallel keys at the same time. It sends batches one after
// another. If the endpoint refuses a batch, the sink sends halves of it until it finds the
// event that causes the refusal.
//
// # Answers
//
//	2xx                                     the event is delivered
//	429, 503                                throttled; the sink waits for Retry-After, if present
//	408, 409, 423, 425, other 5xx           a failure of the endpoint; the sink tries again
//	401 to 405, 407, 410, 421, 451, 3xx     wrong setup of the endpoint or the URL; the sink tries again
//	400 and other 4xx                       the event is refused
//
// The sink does not follow redirects: the signature is for one endpoint.
package webhook
