// Package calls is the load and the worker of what wrk cannot do: unary calls of
// gRPC, and messages that a WebSocket echoes. [Run] sends them, [Server] answers.
//
// Calls of gRPC are what the protocol sends for them, without a library of it: a
// message with its length in front, and the status in a trailer.
package calls
