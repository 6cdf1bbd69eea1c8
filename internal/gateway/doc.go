// Package gateway is the HTTP front: a reverse proxy that hands every request to
// a [Doer], normally a [dispatch.Dispatcher], and passes the answer on.
//
// # What it guarantees
//
//   - Law 1: every Send delivers its request once. Nothing here, and nothing below, sends
//     anything again. The caller of Send counts deliveries.
//   - A truncated answer never looks complete. When a worker breaks off after part of its
//     answer has reached the caller, the caller's connection is cut: reset for HTTP/1.1,
//     RST_STREAM for HTTP/2.
//   - A truncated request never looks complete either. When a caller hangs up, the worker
//     sees its connection closed, not the end of a body.
//   - Callers who hang up blame nobody ([dispatch.CallerGone]). The gateway notices them
//     within about a second, or when it writes to them.
//   - Messages that can be read in two ways are refused (400 to callers, 502 for
//     workers). Package internal/gateway/h1 lists them. The gateway writes every message
//     anew instead of copying it.
//   - Silent callers cannot keep others out: a [Server] has ServerConfig.MaxConns
//     connections, and when another one comes, it closes the one that has been silent for
//     the longest. A connection that has been idle for a second holds no buffers.
//   - Paths and header names that servers read in different ways do not reach workers in
//     that form: see [PathMode] and [LookalikeMode].
//   - Memory is bounded: per connection by its buffers, for bodies by Route.Buffer and
//     Config.MaxBuffered. Larger bodies stream, or are on disk (Route.BufferBody), up to
//     MaxSpooled for all.
//   - Secrets stay out of dead letters (headers, parameters and user information are
//     redacted by name; bodies are not examined) and out of problem documents.
//
// # Before the body is read
//
// Package internal/admission decides whether a [Route] accepts a request, for the gateway
// and for the middleware of package protect. Answers that do not come from the route's
// workers are marked. A place in the pool is held until the answer has been sent (with
// Route.BufferAnswer, until it is buffered), also while a slow body arrives. Set
// PerCaller so that slow callers cannot take all places.
//
// # Time, attempts and traces
//
// A caller bounds its request by X-Request-Timeout ("1.5s", "1500ms", seconds),
// grpc-timeout or X-Request-Deadline (milliseconds since 1970). The earliest counts. A
// value that cannot be read is passed on like any other field. At the deadline the caller
// gets 504 with the rule "deadline", whatever the request waits for. If an answer has
// begun, it is cut when it makes no progress at that time. X-Request-Timeout (and
// grpc-timeout) tell workers how much time is left. X-Bezoar-Attempt tells them the
// number of the attempt, from the second on; values that callers send in it never reach
// workers.
//
// A valid traceparent is passed on with its tracestate; an invalid one is dropped. With
// Config.Trace there is a span around each request and each attempt, and workers get
// theirs. Config.Observe is called once for each request, when it has ended, for example
// to write an [accesslog.Log]. [Gateway.Swap] changes all settings between two requests.
// Requests in flight keep their settings.
//
// # What it passes on
//
// It passes on streams both ways, each piece as it comes; trailers both ways; interim
// answers; upgrades (WebSocket and others, but not h2c); Host; and byte for byte the
// paths that lead to one route. Hop-by-hop fields end here. X-Forwarded-For, -Host and
// -Proto are replaced, or continued if the peer is in Config.TrustedProxies. X-Request-Id
// is kept or made. Expect: 100-continue is answered here. CONNECT is refused.
//
// # What it does not do
//
// Without Route.BufferBody, bodies beyond Route.Buffer, and bodies of unknown length whose sender pauses for 100
// ms, are not held. They stream. Neither they nor bodies on disk can be replayed, and their
// fingerprint covers only what is held in memory. If an answer's body ends with its connection and the worker dies
// without a reset, the gateway cannot tell whether the body was complete. Nor can it over TLS
// when the goodbye (close_notify) is missing, which many servers do not send.
//
// # Two wires, one core
//
// A [Server] speaks HTTP/1.1 with its own implementation (internal/gateway/h1), with and
// without TLS, because that costs less. HTTP/2 uses net/http. [Gateway.ServeHTTP] mounts
// the same core in another server. There are also two implementations to workers:
// internal/gateway/h1, and net/http's HTTP/2 for an Upstream that asks for it, over
// connections that never send a request again (internal/gateway/h2). CPU per proxied
// request, one core, 64 kept-alive connections, tiny answer, as a ratio to nginx 1.22 in
// the same run:
//
//	httputil.ReverseProxy, without any defence                    3.4
//	net/http's server over internal/gateway/h1's client, fingerprint      2.0
//	internal/gateway/h1 on both sides, fingerprint, dispatcher, ledger    1.5
//
// More than half of the rest is kernel time, in system calls that every proxy makes.
// Requests that arrive closely together do their steps together (h1.Crowd).
//
// # What a request passes before a worker is asked
//
//  1. (*job).admit runs before the body is read: (*admission.Admission).Admit identifies the
//     caller, applies operators' overrides, and checks quotas, circuit breaker and pool.
//  2. A refused request gets a fallback's answer, or 429 or 503 with rule, limit, value and
//     time (admission.Refusal). Its body is not read.
//  3. When the body has arrived, (*job).guarded calls guardfront.(*Check).Judge. It finds the
//     queries in the request and asks guard.(*Guard).Check what they will cost. Cost quotas are
//     charged with that. The ledger uses the shape that the guard returns (Verdict.Print).
//  4. dispatch takes a worker of the caller's shard (fleet.Want), within the caller's deadline
//     and within three retry budgets: the route's, the fleet's and the caller's.
//  5. (*job).releaseAdmission tells pool and breaker how the request ended. Config.Observe
//     passes the record to metrics, log and internal/control/metrics.
package gateway
