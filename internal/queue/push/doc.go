// Package push delivers a queue's messages to an HTTP server, one request for each. It
// adapts the number of requests at once to what the server can take.
//
//	receive ──► request ──► 2xx ─────────────────────► delete
//	                   ├──► 429, 503 ────────────────► throttled: later, as Retry-After says
//	                   ├──► 400, 413, 415, 422 ──────► invalid
//	                   ├──► another answer ──────────► bug
//	                   ├──► no connection, 502, 504 ─► outage
//	                   ├──► broken off ──────────────► crash
//	                   └──► overdue ─────────────────► timeout
//
// A server that dies breaks off all its requests. Then each message is suspect and is
// tried alone; a death in company convicts none.
//
// The limit on requests at once follows success as TCP's window does: it grows by one
// after as many successes as the limit is, and halves after a throttling, an outage or a
// timeout. It is at least one.
//
// A message that was an HTTP request goes to its own method and target if the configured
// URL has no path. Every other message is POSTed to the URL. Redirects are not followed.
package push
