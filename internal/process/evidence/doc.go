// Package evidence determines what failed in a run of a handler or of a task, and from
// what evidence: in a child process, by a panic, or by an error. It joins the end of the
// child as its runner saw it (package child) and the child's output (package crash), so
// that a message and a task with the same failure have the same fingerprint.
//
// The class that the runner saw, or that the child reported, stays. Only a bug may be
// changed into a downstream's failure.
package evidence
