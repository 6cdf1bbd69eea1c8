// Package stale keeps the last good answers of upstreams, to be shown while they
// cannot answer. It decides what may be kept and for how long; whether one is
// shown is the caller's decision.
//
// # Use
//
// Of a safe request (GET; HEAD may be answered with what GET left) the caller
// makes a key: a keyed hash of the route, the host, the target and what
// [Cache.AppendVary] says. Anybody who can make two requests collide can show
// one's answer to the other, so the hash is a cryptographic one.
//
//	r := cache.Record(key, stale.Answer{Status: status, Header: fields, Credentials: cookie || authorization}, now)
//	defer r.Discard()
//	… r.Write(piece) … as the body passes by
//	r.Commit(now)      // only when it is whole
//
//	a, age, ok := cache.Get(key, now, maxAge)
//
// Who shows one adds Age, Content-Length, and a field that says what it is.
//
// # What is kept
//
// Answers 200, 203, 301, 308, 404 and 410: what an upstream that works may have
// meant for good. That something is gone is an answer too, or what was deleted
// would come back. Not errors, redirects for now, pieces, or what is not whole.
//
// By RFC 9111 §3, as a shared cache: not with no-store or private; not with
// Set-Cookie; to a request with credentials only with public, s-maxage or
// must-revalidate; with Vary only on what is in the key. no-cache, and what
// cannot be read, is not kept either. A request with Cache-Control: no-store is
// the caller's to leave out.
//
// By §4.2.4 an answer with must-revalidate, proxy-revalidate or s-maxage is shown
// only while it is fresh; one with stale-if-error (RFC 5861) until that is over;
// others as long as the caller wants. Expires is not read: it can only forbid
// less.
//
// # Bounds
//
// Config.MaxBytes and MaxEntries; what is on its way takes at most a quarter
// more, beyond which recorders give up. What makes room is chosen by SIEVE, in
// constant time for each use. A copy younger than Config.Refresh is not recorded
// again, so that a busy address costs one copy a second.
//
// # Not done
//
// Nothing is dropped because an unsafe request changed it (§4.4): a copy can be
// older than the caller's own change, by as much as maxAge. Nothing is
// revalidated, and nothing survives the process.
package stale
