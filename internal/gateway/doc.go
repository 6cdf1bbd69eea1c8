// Package gateway is the HTTP front: a reverse proxy that hands every request to
// a [Doer], normally a [dispatch.Dispatcher], and passes the answer on.
//
// # What it guarantees
//
//   - Law 1: every Send delivers its request once. Nothing here, and nothing
//     below, sends anything again; whoever calls Send counts deliveries.
//   - A truncated answer never looks whole. When a worker breaks off after part of
//     its answer has reached the caller, the caller's connection is cut: reset for
//     HTTP/1.1, RST_STREAM for HTTP/2.
//   - A truncated request never looks whole either: a worker whose caller hangs up
//     sees its connection closed, not the end of a body.
//   - Callers who hang up blame nobody ([dispatch.CallerGone]). They are noticed
//     within about a second, or when something is written to them.
//   - Messages that can be read in two ways are refused (400 to callers, 502 for
//     workers); what is passed on is written anew. Package internal/gateway/h1 lists them.
//   - Silent callers cannot keep others out: a [Server] has ServerConfig.MaxConns
//     connections, and when another one comes, the one that has been silent for the
//     longest goes. One that is idle for a second holds no buffers.
//   - What servers can read in two ways does not reach them in two ways: see
//     [PathMode] for paths and [LookalikeMode] for header names.
//   - Memory is bounded: per connection by its buffers, for bodies by Route.Buffer
//     and Config.MaxBuffered. What does not fit streams.
//   - Secrets stay out of dead letters (headers, parameters and user information
//     are redacted by name; bodies are not looked into) and of problem documents.
//
// # Before the body is read
//
// A [Route] may ask things of those who call it: package internal/admission decides, for
// the gateway and for the middleware of package protect. An answer that is none of the
// route's workers is marked. A place in the pool is held until the answer has been sent (with
// Route.BufferAnswer, until it is buffered), also while a slow body comes: give callers a
// PerCaller.
//
// # Time, attempts and traces
//
// A caller bounds its request by X-Request-Timeout ("1.5s", "1500ms", seconds),
// grpc-timeout or X-Request-Deadline (milliseconds since 1970); the earliest counts,
// and what makes no sense is passed on as any other field. It is answered 504 with
// the rule "deadline" then, whatever it waits for; an answer that has begun is cut
// when it stands still at that time. Workers are told what is left in
// X-Request-Timeout (and grpc-timeout), and in X-Bezoar-Attempt which attempt it
// is, from the second on; what callers say there never reaches them.
//
// A valid traceparent is passed on with its tracestate, an invalid one is not. With
// Config.Trace there is a span around each request and each attempt, and workers are
// told theirs. Config.Observe hears of each request once, when it has ended: an
// [accesslog.Log] can be hung in there. [Gateway.Swap] changes all settings between two
// requests, and none of one in flight.
//
// # What it passes on
//
// Streams both ways with every piece sent on as it comes, trailers both ways,
// interim answers, upgrades (WebSocket and others, but not h2c), paths that lead to
// one route byte for byte, Host. Hop-by-hop fields end here. X-Forwarded-For, -Host and -Proto are
// replaced, or continued when Config.TrustedProxies vouches for the peer.
// X-Request-Id is kept or made. Expect: 100-continue is answered here. CONNECT is
// refused.
//
// # What it does not do
//
// Bodies beyond Route.Buffer, and bodies of unknown length whose sender pauses
// for 100 ms, are not held: they stream, cannot be replayed, and their fingerprint
// covers what had come. A body that ends with its connection cannot be told from
// one that broke off when the worker dies without a reset.
//
// # Two wires, one core
//
// A [Server] speaks HTTP/1.1 on a wire of its own, with TLS and without. HTTP/2 is
// net/http's. [Gateway.ServeHTTP] mounts the same core elsewhere. The own wire is a
// matter of cost. To workers there are two wires as well: internal/gateway/h1,
// and net/http's HTTP/2 for an Upstream that wants it, over connections that send
// nothing again (internal/gateway/h2). CPU per proxied request, one core, 64 kept-alive
// connections, tiny answer, as a ratio to nginx 1.22 in the same run:
//
//	httputil.ReverseProxy, without any defence                    3.4
//	net/http's server over internal/gateway/h1's client, fingerprint      2.0
//	internal/gateway/h1 on both sides, fingerprint, dispatcher, ledger    1.5
//
// More than half of what is left is the kernel's, in the system calls that every proxy
// makes. Exchanges that come closely upon each other take their steps together (h1.Crowd).
//
// # What a request passes before a worker is asked
//
//  1. (*job).admit, before the body is read: (*admission.Admission).Admit decides who calls,
//     what operators have overridden, and about quotas, circuit breaker and pool.
//  2. What is refused there is answered by a fallback, or by 429 or 503 with rule,
//     limit, value and time (admission.Refusal). Its body is not read.
//  3. With the body at hand (*job).guarded has guardfront.(*Check).Judge find the queries in
//     it, which asks guard.(*Guard).Check what they will cost. That is charged to quotas of cost. The shape that the guard gives it
//     (Verdict.Print) is the one that the ledger knows.
//  4. dispatch takes a worker of the caller's shard (fleet.Want), by the caller's
//     deadline, within three retry budgets: the route's, the fleet's and the caller's.
//  5. (*job).releaseAdmission tells pool and breaker how it went; Config.Observe passes
//     the record to metrics, log and internal/control/metrics.
package gateway
