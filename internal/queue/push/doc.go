// Package push delivers a queue's messages to an HTTP server, one request for
// each, with as many at once as the server proves to bear.
//
//	receive ──► request ──► 2xx ─────────────────────► delete
//	                   ├──► 429, 503 ────────────────► throttled: later, as Retry-After says
//	                   ├──► 400, 413, 415, 422 ──────► invalid
//	                   ├──► another answer ──────────► bug
//	                   ├──► no connection, 502, 504 ─► outage
//	                   ├──► broken off ──────────────► crash
//	                   └──► overdue ─────────────────► timeout
//
// A server that dies breaks off all its requests: then each is suspected and
// tried alone, and none is convicted by what happened to it among others.
//
// The limit on requests at once follows success as TCP's window does: one more
// after as many successes as the limit is, half after a throttling, an outage or
// a timeout, never below one.
//
// A message that was an HTTP request goes to its own method and target when the
// configured URL has no path; every other one is POSTed to the URL. Redirects
// are not followed.
package push
