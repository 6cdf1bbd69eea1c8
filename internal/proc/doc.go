// Package proc holds what everybody needs who starts processes: a thread to fork
// from, a clean environment, how a process ended, and the end of all that it
// left.
package proc
