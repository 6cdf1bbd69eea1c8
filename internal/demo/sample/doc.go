// Package sample is the worker that the demonstration kills: a small web shop's
// search service, run as a child process of its own.
//
// It serves one request at a time, as an event loop does: connections are
// accepted freely, but everything, the health check included, waits for the one
// loop. So a filter that backtracks without end really pins the process, a nil
// pointer really ends it, and an export that is too large is really killed for
// its memory. Which request does what depends on the request alone.
//
// Nothing here is for production use: the faults are the point.
package sample
