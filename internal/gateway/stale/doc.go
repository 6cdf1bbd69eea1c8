// Package stale keeps the last good answers of upstreams, so that callers can get them
// while an upstream cannot answer. It decides which answers may be kept and for how long.
// The caller decides whether one is shown.
//
// # Use
//
// For a safe request (GET; a HEAD may be answered with what a GET left) the caller makes
// a key: a keyed hash of the route, the host, the target and what [Cache.AppendVary]
// returns. The hash must be a cryptographic one: if somebody can make two requests
// collide, one of them gets the other's answer.
//
//	r := cache.Record(key, stale.Answer{Status: status, Header: fields, Credentials: cookie || authorization}, now)
//	defer r.Discard()
//	… r.Write(piece) … as the body passes by
//	r.Commit(now)      // only when it is whole
//
//	a, age, ok := cache.Get(key, now, maxAge)
//
// The caller that shows an answer adds Age, Content-Length, and a field that marks it as
// stale.
//
// # What is kept
//
// Answers with status 200, 203, 301, 308, 404 and 410 are kept. 404 and 410 are kept
// because otherwise deleted resources would come back. Other errors, temporary redirects,
// partial answers and incomplete answers are not kept.
//
// The rules for a shared cache (RFC 9111 §3) apply. Answers with no-store, private or
// Set-Cookie are not kept. Answers to requests with credentials are kept only with
// public, s-maxage or must-revalidate. Vary may name only fields that are in the key.
// Answers with no-cache or an unreadable Cache-Control are not kept either. The caller
// must leave out requests with Cache-Control: no-store.
//
// By §4.2.4, an answer with must-revalidate, proxy-revalidate or s-maxage is shown only
// while it is fresh. An answer with stale-if-error (RFC 5861) is shown until that time is
// over. Other answers are shown as long as the caller wants. Expires is not read, because
// it could only allow more.
//
// # Bounds
//
// Config.MaxBytes and MaxEntries bound the stored answers. Answers that are being
// recorded take at most a quarter more; beyond that, recorders give up. The SIEVE
// algorithm chooses what to evict, in constant time per use. A copy younger than
// Config.Refresh is not recorded again, so a busy address costs one copy per second.
//
// # Not done
//
// An unsafe request does not invalidate answers (§4.4): a copy can be older than the
// caller's own change, by as much as maxAge. Nothing is revalidated, and nothing survives
// the process.
package stale
