// Package adminapi is the contract between Bezoar's admin API and those who
// call it: the documents that travel, the problem document that says no, and a
// [Client]. The server in internal/control/admin and the command line use the same
// types, so that neither can drift.
//
// Every answer that a [Client] reads is bounded by [MaxAnswer]; a longer one is
// an error, not a surprise. Field names are stable: they are also what the
// command line prints with --json.
package adminapi
