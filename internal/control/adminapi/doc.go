// Package adminapi is the contract of Bezoar's admin API: the documents, the problem
// document for errors, and a [Client]. The server in internal/control/admin and the command
// line use the same types, so that they cannot diverge.
//
// A [Client] reads at most [MaxAnswer] bytes of an answer; a longer answer is an error.
// Field names are stable: the command line prints the same names with --json.
package adminapi
