// Package proc runs the processes of a benchmark: each in a process group of
// its own, pinned to cores where taskset is there, stopped with everything it
// started, and read for the CPU time it used.
//
// Nothing outlives the benchmark, also when that is killed: the kernel ends the
// head of every group, and the benchmark's own programs end with their standard
// input (see [Leash]).
//
// It reads /proc and is for Linux.
package proc
