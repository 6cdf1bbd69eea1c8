// Package h1 speaks HTTP/1.1 on connections with and without TLS, as a server and as
// a client, with one strict parser for both. It is the wire of the gateway, which net/http
// cannot be: its Transport delivers a request again on its own, and its Server
// costs more than the proxy's whole budget (package gateway has the figures).
//
// # Client
//
// A [Pool] holds the idle connections to one life of one worker. Get hands out
// the newest one after looking, without blocking, whether the worker has closed
// it meanwhile, or dials. No byte leaves in Get. [Conn.Start] writes a request
// once; nothing here ever writes it again. No goroutine belongs to a connection.
//
// # Server
//
// A [Server] gives each connection one goroutine and calls its handler with an
// [Exchange] per request. No second goroutine watches for callers who hang up:
// whoever waits for a worker asks [Exchange.Gone] from time to time. It asks the kernel,
// which knows of the end of a connection also below TLS, where nobody reads.
//
// # Strictness
//
// Messages that two parsers could read in two ways are refused: lines that end in a
// bare LF, bare CR, NUL and other controls, folded fields, space before a colon,
// Content-Length beside Transfer-Encoding, repeated or decorated lengths, every
// transfer coding but "chunked", chunk sizes that overflow. What is passed on is
// written anew from what was understood, never copied from the wire.
//
// Bounds: heads, field counts, request targets, chunk extensions and trailers have
// limits; every wait has an end, set by a [Watch]. Bodies are never held here.
package h1
