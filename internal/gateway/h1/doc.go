// Package h1 speaks HTTP/1.1 on connections with and without TLS, as a server and as a
// client, with one strict parser for both. The gateway cannot use net/http instead: its
// Transport delivers a request again on its own, and its Server costs more than the whole
// budget of the proxy (package gateway has the figures).
//
// # Client
//
// A [Pool] holds the idle connections to one life of one worker. Get returns the newest
// one, or dials. It first checks, without blocking, whether the worker has closed the
// connection, and it learns whether a worker closes connections soon after its answers.
// Get sends no byte. [Conn.Start] writes a request once; nothing here ever
// writes it again. A connection has no goroutine.
//
// # Server
//
// A [Server] gives each connection one goroutine and calls its handler with an [Exchange]
// per request. No second goroutine watches for callers who hang up: code that waits for a
// worker calls [Exchange.Gone] from time to time. Gone asks the kernel, which also knows
// the end of a connection below TLS.
//
// # Strictness
//
// Messages that two parsers could read in two ways are refused: lines that end in a bare
// LF, bare CR, NUL and other control characters, folded fields, space before a colon,
// Content-Length beside Transfer-Encoding, repeated or decorated lengths, every transfer
// coding but "chunked", chunk sizes that overflow. Messages are written anew from what
// was parsed, never copied from the wire.
//
// Answers may be written oddly where they still have one meaning only: chunks in HTTP/1.0,
// zeros and white space around a chunk size, white space before a colon, trailers that
// belong into the head.
//
// Heads, field counts, request targets, chunk extensions and trailers have limits. A
// [Watch] sets an end for every wait. Bodies are never held here.
package h1
