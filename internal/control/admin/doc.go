// Package admin serves the admin API, the metrics and the console.
//
// The package itself decides nothing: all data comes from a [Backend]. Events are published
// to a [Hub], which can feed any number of slow readers without delaying anybody.
//
// # Access
//
// On a loopback address, everybody on the machine has access, but only under a host name of
// this machine, so that no web page can get access by DNS rebinding. On other addresses, or
// if a token is set, only requests with the token are allowed. [Config.Validate] rejects a
// non-loopback address without a token. Requests that a page of another origin sends
// through a browser are rejected.
//
// # Limits
//
// Bodies, headers, connections, event streams and metric labels are bounded. At the limit
// of connections, the connection that has been silent longest is closed. Metric labels
// contain fleets, but never work.
package admin
