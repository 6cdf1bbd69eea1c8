// Overload measures what a server is worth while more is asked of it than it
// can do, with and without a pool of package overload in front of it: a real
// HTTP server in a process of its own that does 16 requests at once in 100 ms
// each, and callers who give up after a second while the server works on.
//
//	go run -C bench ./overload                              # five minutes
//	go run -C bench ./overload -svg overload/overload.svg   # and draw it
//
// It also measures the CPU time of a refusal beside that of an answer. It is
// for Linux.
package main
