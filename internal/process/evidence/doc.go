// Package evidence says what failed in a run of a handler or of a task, and what
// that rests on: in a child process, by a panic, or by an error. It joins what the
// keeper of a child saw (package child) and what the child printed (package crash),
// so that a message and a task with the same failure have the same fingerprint.
//
// The class that a keeper saw, or a child gave itself, stays. Only a bug may turn
// out to be a downstream's failure.
package evidence
