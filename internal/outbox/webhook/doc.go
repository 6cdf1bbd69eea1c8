// Package webhook is an HTTP endpoint as a sink of an outbox. Events are CloudEvents 1.0
// over HTTP, signed as Standard Webhooks says.
//
// # Modes
//
// In binary mode each event is one request: its payload is the body, its attributes are
// ce- headers, and its own headers are headers. In structured mode the body is the event
// in JSON. In batched mode the body is a JSON array of many.
//
// # Order
//
// The events of one key are sent one after another, each when the one before it was
// answered. Keys are sent side by side, Config.Parallel of them. Batches are sent one
// after another. A batch whose content is refused is sent again in halves until it is
// known whose fault that is.
//
// # Answers
//
//	2xx                                     taken
//	429, 503                                throttled, until Retry-After if it is there
//	408, 409, 423, 425, 5xx                 the endpoint's fault, to be tried again
//	401 to 405, 407, 410, 421, 451, 3xx     the endpoint, or its URL, is set up wrong
//	400 and all other 4xx                   the event is refused
//
// Redirects are not followed: the signature is for one endpoint.
package webhook
