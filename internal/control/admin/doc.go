// Package admin serves the admin API, the metrics and the console page.
//
// It decides nothing: everything comes from a [Backend], and what happens is
// published to a [Hub], from which any number of slow readers may be fed
// without holding anything up.
//
// Who may enter: on a loopback address everybody on the machine, but only under
// a name of this machine, so that no web page can reach in by rebinding its
// name; elsewhere, or when a token is set, only the bearer of the token. A wider
// address without a token is refused before it is bound ([Config.Validate]).
// Requests that a page of another origin makes a browser send are refused.
//
// Everything is bounded: bodies, headers, connections (of which the most silent
// goes first), event streams, and the labels of the
// metrics, which name fleets and never work.
package admin
